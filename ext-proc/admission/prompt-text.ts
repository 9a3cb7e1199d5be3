import { unescapeText } from './json-text.ts';
import { JSON_TEXT, type PromptRecord } from './prompt-record.ts';

/** The prompt's text, for counting tokens: with tool definitions and unknown fields, or only the texts that a model reads as they are. Images have none. */
export function promptTexts(bytes: Buffer, { pieces }: PromptRecord, withJson: boolean): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < pieces.length; at += 3) {
    const [kind, start, end] = [pieces[at], pieces[at + 1] as number, pieces[at + 2] as number];
    if (kind === JSON_TEXT && !withJson) continue;
    const raw = bytes.toString('utf8', start, end);
    const isEscaped = kind !== JSON_TEXT && raw.includes('\\');
    texts.push(isEscaped ? Buffer.from(unescapeText(bytes, start, end)).toString() : raw);
  }
  return texts;
}
