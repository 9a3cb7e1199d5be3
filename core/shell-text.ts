/** Quotes any text for a POSIX shell. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
