import { unescapeText } from './json-text.ts';
import type { PromptSink } from './prompt-sink.ts';

/** Collects the prompt's text, for counting tokens when a provider sends no usage. Images have no text. */
export class PromptTextCollector implements PromptSink {
  readonly #pieces: string[] = [];

  addText(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('utf8', start, end);
    this.#pieces.push(text.includes('\\') ? Buffer.from(unescapeText(bytes, start, end)).toString() : text);
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
}
