/**
 * The tokenizer's work grows with the square of a run without a boundary (measured: 60,000 Japanese
 * characters take 12 s), so text is counted in pieces. Cutting before a space costs no token; a cut
 * inside a run costs at most one in 512 characters.
 */
const PIECE_CHARACTERS = 512;

export function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    const end = cutAfter(text, start);
    yield text.slice(start, end);
    start = end;
  }
}

/** Most cuts inside runs of a text. Each changes a count by at most one token. */
export function mostCuts(characters: number): number {
  return Math.floor(characters / (PIECE_CHARACTERS - 1));
}

function cutAfter(text: string, start: number): number {
  const furthest = start + PIECE_CHARACTERS;
  if (furthest >= text.length) return text.length;
  const space = text.slice(start, furthest).lastIndexOf(' ');
  if (space > 0 && text.charCodeAt(start + space - 1) !== 0x20) return start + space;
  // A surrogate pair is one character.
  const code = text.charCodeAt(furthest);
  return code >= 0xdc00 && code <= 0xdfff ? furthest - 1 : furthest;
}
