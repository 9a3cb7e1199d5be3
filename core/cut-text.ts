/**
 * At most the first `longest` characters of a text. A text that is cut is copied, because a slice
 * would keep the whole text in memory.
 */
export function cutText(text: string, longest: number): string {
  return text.length <= longest ? text : Buffer.from(text.slice(0, longest)).toString();
}
