/**
 * Imports against the order that are still to be untied, from folder to folder. Both lists are to become empty, and this file goes
 * with them: add nothing, and delete the line of what you have untied.
 */
export const KNOWN_IMPORTS: readonly (readonly [from: string, to: string])[] = [
  ['database/audit', 'database/users'],
  ['database/keys', 'database/administration'],
  ['database/keys', 'database/users'],
  ['database/ledger', 'database/administration'],
  ['database/members', 'database/users'],
  ['database/organizations', 'database/administration'],
  ['database/organizations', 'database/keys'],
  ['ext-proc/chat/tokens', 'ext-proc/chat'],
];

/** Folders with files that need each other. */
export const KNOWN_FILE_CYCLES: readonly string[] = [];
