import { unescapeText } from './json-text.ts';
import type { PromptSink } from './prompt-sink.ts';

/** Collects the prompt's text, for counting tokens. Images have no text. */
export class PromptTextCollector implements PromptSink {
  readonly #pieces: string[] = [];
  readonly #texts: string[] = [];

  addText(bytes: Buffer, start: number, end: number): void {
    const raw = bytes.toString('utf8', start, end);
    const text = raw.includes('\\') ? Buffer.from(unescapeText(bytes, start, end)).toString() : raw;
    this.#pieces.push(text);
    this.#texts.push(text);
  }

  addJson(bytes: Buffer, start: number, end: number): void {
    this.#pieces.push(bytes.toString('utf8', start, end));
  }

  addTool(bytes: Buffer, start: number, end: number): void {
    this.addJson(bytes, start, end);
  }

  addMessage(): void {}

  addPart(): void {}

  addToolCall(): void {}

  addImage(): void {}

  text(): string {
    return this.#pieces.join('\n');
  }

  /** Those that stand in no JSON. */
  texts(): readonly string[] {
    return this.#texts;
  }
}
