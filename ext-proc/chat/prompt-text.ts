import { BACKSLASH } from './json/json-bytes.ts';
import { JSON_TEXT, type PromptRecord } from './tokens/prompt-record.ts';

/**
 * The prompt's text, for counting tokens: with tool definitions and unknown fields, or only the
 * texts that a model reads as they are. Images have none.
 */
export function promptTexts(bytes: Buffer, { pieces }: PromptRecord, withJson: boolean): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < pieces.length; at += 3) {
    const [kind, start, end] = [pieces[at], pieces[at + 1] as number, pieces[at + 2] as number];
    if (kind === JSON_TEXT && !withJson) continue;
    const isEscaped = kind !== JSON_TEXT && bytes.subarray(start, end).includes(BACKSLASH);
    // With its quotes it is JSON, which V8 reads in half the time: 40 ms for 20 MiB of escapes
    // (measured).
    texts.push(isEscaped ? JSON.parse(bytes.toString('utf8', start - 1, end + 1)) : bytes.toString('utf8', start, end));
  }
  return texts;
}
