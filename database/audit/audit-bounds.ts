import type { AuditChange, AuditChanges, AuditEvent, AuditValue } from './audit.ts';
import { isList } from './audit-changes.ts';

/** Bound for an event's changes, in bytes of UTF-8 as PostgreSQL writes JSON: with spaces. */
export const MAX_CHANGES_BYTES = 2_048;
const MOST_NAME = 300;
const MOST_TEXT = 500;
/** Lengths of cut texts. The second applies if all texts of an organization change at once. */
const SHORT_TEXT = 100;
const SHORTEST_TEXT = 40;

/** Cuts an event, so that no change fills the database. It has the number of omitted members. */
export function boundedEvent(event: AuditEvent): AuditEvent {
  return { ...event, subjectName: cut(event.subjectName, MOST_NAME), changes: boundedChanges(event.changes) };
}

function boundedChanges(changes: AuditChanges): AuditChanges {
  const whole = shortened(changes, Number.POSITIVE_INFINITY, MOST_TEXT);
  if (fits(whole)) return whole;
  // Binary search for the most members of each list that fit.
  let [most, tooMany] = [0, longestList(changes) + 1];
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (fits(shortened(changes, middle, SHORT_TEXT))) most = middle;
    else tooMany = middle;
  }
  const short = shortened(changes, most, SHORT_TEXT);
  return fits(short) ? short : shortened(changes, most, SHORTEST_TEXT);
}

function fits(changes: AuditChanges): boolean {
  // Replaces only line ends between members, because JSON escapes those within texts.
  const text = JSON.stringify(changes, null, 1).replace(/\n */g, ' ');
  return Buffer.byteLength(text) <= MAX_CHANGES_BYTES;
}

function longestList(changes: AuditChanges): number {
  const lists = Object.values(changes).flatMap((change) =>
    'added' in change ? [change.added, change.removed] : change.filter(isList),
  );
  return Math.max(0, ...lists.map((list) => list.length));
}

function shortened(changes: AuditChanges, mostMembers: number, mostText: number): AuditChanges {
  return Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [name, shortenedChange(change, mostMembers, mostText)]),
  );
}

function shortenedChange(change: AuditChange, mostMembers: number, mostText: number): AuditChange {
  if ('added' in change) return shortenedLists(change, mostMembers);
  const [before, after] = change;
  const tooLong = (value: AuditValue) => isList(value) && value.length > mostMembers;
  if (isList(before) && tooLong(before))
    return { ...shortenedLists({ added: [], removed: before }, mostMembers), after: null };
  if (isList(after) && tooLong(after))
    return { ...shortenedLists({ added: after, removed: [] }, mostMembers), before: null };
  return [shortenedText(before, mostText), shortenedText(after, mostText)];
}

function shortenedLists(
  change: { readonly added: readonly string[]; readonly removed: readonly string[] },
  mostMembers: number,
) {
  const { added, removed } = change;
  const [addedLeftOut, removedLeftOut] = [added, removed].map((list) => Math.max(0, list.length - mostMembers));
  return {
    ...change,
    added: added.slice(0, mostMembers),
    removed: removed.slice(0, mostMembers),
    ...(addedLeftOut ? { addedLeftOut } : {}),
    ...(removedLeftOut ? { removedLeftOut } : {}),
  };
}

function shortenedText(value: AuditValue, most: number): AuditValue {
  return typeof value === 'string' ? cut(value, most) : value;
}

/** Cuts a text between characters, and appends how many are missing. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text];
  if (characters.length <= most) return text;
  const note = `… (${characters.length - most} characters left out)`;
  return characters.slice(0, most).join('') + note;
}
