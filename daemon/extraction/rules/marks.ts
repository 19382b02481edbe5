/** Signs that nobody types: they stand in a sentence for what was found in it, so that a cue can ask for any of its kind. */

/** Stands for a date. */
export const DATE_MARK = '\u2402'
/** Stands before the name of a system. */
export const SYSTEM_MARK = '\u2403'
/** Stands for an address. */
export const ADDRESS_MARK = '\u2404'
