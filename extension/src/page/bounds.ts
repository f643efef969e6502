// Every bound of the in-page half, with its unit: a page is hostile, and may hold 10^6 nodes or 100 MB of text.
// What a caller may ask for (characters of a result, waits) is bounded by the contract's limits, not here.

/** Nodes that one reading visits at most. */
export const NODES_MAX = 1_000_000;
/** Milliseconds that one reading may take; it then ends early and says so. */
export const READ_MS_MAX = 4_000;
/** Characters of page text that one reading looks at. */
export const SCAN_CHARS_MAX = 16_000_000;
/** Characters taken from one text node at a time: a node may hold 100 MB. */
export const NODE_CHARS_MAX = 1_000_000;
/** Characters of one line of text; longer paragraphs continue on the next line. */
export const LINE_CHARS_MAX = 4_000;
/** Characters of an accessible name in a snapshot. */
export const NAME_CHARS_MAX = 120;
/** Characters of a field's value in a snapshot. */
export const VALUE_CHARS_MAX = 200;
/** Characters of a word that is kept whole when a name or line is cut: no shape that masking knows may be halved. */
export const WORD_CHARS_MAX = 16_000;
/** Nodes below an element up to which the accessible-name library is asked. */
export const NAME_NODES_MAX = 48;
/** Text nodes of a hidden part that are counted. */
export const HIDDEN_NODES_MAX = 200;
/** Share of a cut snapshot that is given to the outline of what follows. */
export const OUTLINE_SHARE = 0.15;
/** Lines of a block that can be folded when it repeats. */
export const FOLD_LINES_MAX = 6;
/** Options of a list that are named. */
export const OPTIONS_MAX = 12;
/** Tokens that a document keeps for acts that were looked at but not done yet. */
export const TOKENS_MAX = 64;
/** Calls whose ids are kept so that none acts twice. */
export const CALLS_MAX = 1_024;
/** Milliseconds without a change after which an act's effects count as complete. */
export const QUIET_MS = 8;
/** Milliseconds to wait for a first effect. */
export const FIRST_EFFECT_MS = 24;
/** Milliseconds to wait for effects to end. */
export const EFFECTS_MS_MAX = 120;
/** Milliseconds between two looks at a condition that nothing announces. */
export const WAIT_POLL_MS = 100;
/** Pixels at or below which an element's side counts as nothing. */
export const TINY_PX = 1;
