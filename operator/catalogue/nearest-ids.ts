import { nameAtProvider } from '#core/model-catalogue/catalogue-model.ts';

const MAX_SHOWN = 5;
/** A name beyond it is compared by its beginning: the work grows with its square. */
const MAX_CHARACTERS = 128;

/** Ids that are most like a mistyped one, with or without its provider. */
export function nearestIds(mistyped: string, ids: readonly string[]): readonly string[] {
  const text = mistyped.slice(0, MAX_CHARACTERS).toLowerCase();
  const distance = (id: string) => Math.min(editDistance(text, id), editDistance(text, nameAtProvider(id)));
  return ids
    .map((id) => ({ id, edits: distance(id.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MAX_SHOWN)
    .map(({ id }) => id);
}

/** Fewest insertions, deletions and replacements of a character (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, character] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (to[j] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
