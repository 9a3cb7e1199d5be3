import type { ImageSize } from './image-size.ts';

/**
 * Receives all that a model will read, piece by piece, as a request is checked: one walk counts tokens, another one collects the text.
 * Positions are in the body; a text stands between its quotes and may contain escapes.
 */
export interface PromptSink {
  addMessage(): void;
  addPart(): void;
  addText(bytes: Buffer, start: number, end: number): void;
  /** A field the gateway does not know, as JSON. */
  addJson(bytes: Buffer, start: number, end: number): void;
  /** The definition of a tool or of a response schema, as JSON. */
  addTool(bytes: Buffer, start: number, end: number): void;
  addToolCall(): void;
  /** Absent: the size could not be read. */
  addImage(size: ImageSize | undefined): void;
}
