#!/bin/sh
# memoryd-hook <harness> <socket>: hands what a harness gives its hook to memoryd, and prints the answer.
# Whatever goes wrong, it prints nothing, ends with 0, and is over within half a second, or in MEMORYD_HOOK_SECONDS.
# All logic is in the daemon. Only POSIX shell here: dash, busybox and the like run it.

exec 2>/dev/null
[ -t 0 ] && exit 0
# Where standard input is closed, the next pipe would take its number, and its reader would wait for itself.
{ :; } 3<&0 || exit 0
trap '' PIPE
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}

seconds=${MEMORYD_HOOK_SECONDS-}
case $seconds in
  *[!0-9.]* | *.*.* | .* | *. | '') seconds=0.35 ;;
esac

# The variables that memory depends on travel as JSON. Values that would have to be escaped are left to the program below.
told=
plain=yes
for name in CLAUDE_CODE_DISABLE_AUTO_MEMORY CLAUDE_CODE_SIMPLE CLAUDE_CODE_REMOTE CLAUDE_CODE_REMOTE_MEMORY_DIR \
  CLAUDE_CONFIG_DIR CLAUDE_COWORK_MEMORY_PATH_OVERRIDE CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES \
  MEMORYD_CONTEXT_WINDOW CLAUDE_AUTOCOMPACT_PCT_OVERRIDE DISABLE_COMPACT DISABLE_AUTO_COMPACT; do
  eval "value=\${$name-}"
  [ -n "$value" ] || continue
  case $value in
    *[!A-Za-z0-9\ /._:@+,=~-]*) plain=no ;;
  esac
  told="$told${told:+,}\"$name\":\"$value\""
done

if [ $plain = yes ] && command -v curl >/dev/null; then
  # Kept until it is whole: half of an answer would be told to the model. -q: ignores .curlrc.
  # -T: sent while it is read, within the time; other ways read to the end first, and count from then on.
  said=$(curl -q -s --fail --max-time "$seconds" --noproxy '*' --unix-socket "$2" -X POST -H 'Expect:' \
    -H 'content-type: application/json' -H 'x-memoryd-protocol: 1' -H "x-memoryd-actor: agent:$1" \
    -H "x-memoryd-env: {$told}" -w '%{http_code}' -T - "http://memoryd/v1/hooks/$1") &&
    case $said in
      *200) printf '%s' "${said%200}" ;;
    esac
else
  # What a harness gives node to do first may print, or wait for a debugger.
  root=${0%/*}/../..
  hook=$root/dist/hook.js
  # A checkout is not built, and brings the Node that runs its sources.
  [ -e "$root/client/hooks/hook.ts" ] && hook=$root/client/hooks/hook.ts && PATH=$root/node_modules/.bin:$PATH
  NODE_OPTIONS='' node "$hook" "$1" "$2"
fi
exit 0
