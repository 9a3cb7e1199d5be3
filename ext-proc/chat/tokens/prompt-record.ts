import type { Span } from '../json/json-cursor.ts';

/**
 * Places in the body of everything that a model will read. Tokens are counted, and text is
 * collected, by them.
 */
export interface PromptRecord {
  readonly messages: number;
  readonly parts: number;
  readonly toolCalls: number;
  readonly tools: number;
  /**
   * Three numbers for each piece: `TEXT` or `JSON_TEXT`, start and end. A text stands between its
   * quotes and may have escapes.
   */
  readonly pieces: Int32Array;
  readonly images: readonly MediaPlace[];
  readonly files: readonly MediaPlace[];
}

/** An image's `url` or a file's `file_data`, between its quotes. */
export interface MediaPlace extends Span {
  readonly param: string;
}

export const TEXT = 0;
/**
 * Definitions of tools, and fields that the gateway does not know, as JSON: templates serialize
 * them again.
 */
export const JSON_TEXT = 1;

/** Writes a PromptRecord while a request is checked. */
export class PromptRecorder {
  messages = 0;
  parts = 0;
  toolCalls = 0;
  tools = 0;
  readonly images: MediaPlace[] = [];
  readonly files: MediaPlace[] = [];
  readonly #pieces: number[] = [];

  addText({ start, end }: Span): void {
    this.#pieces.push(TEXT, start, end);
  }

  addJson({ start, end }: Span): void {
    this.#pieces.push(JSON_TEXT, start, end);
  }

  /** The definition of a tool or of a response schema. */
  addTool(definition: Span): void {
    this.tools++;
    this.addJson(definition);
  }

  record(): PromptRecord {
    const { messages, parts, toolCalls, tools, images, files } = this;
    return { messages, parts, toolCalls, tools, images, files, pieces: new Int32Array(this.#pieces) };
  }
}
