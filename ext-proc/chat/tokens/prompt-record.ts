import type { Span } from '../json/json-cursor.ts';

/** Places in the body of all that a model will read, to count its tokens and collect its text. */
export interface PromptRecord {
  readonly messages: number;
  readonly parts: number;
  readonly toolCalls: number;
  readonly tools: number;
  /** Inputs of an embeddings request: texts, or arrays of tokens. A chat has none. */
  readonly inputs: number;
  /** Tokens of the inputs that came as tokens: of all, and of the longest. */
  readonly givenTokens: number;
  readonly longestGiven: number;
  /** Three numbers a piece: its kind, start and end. Only JSON has its quotes. */
  readonly pieces: Int32Array;
  readonly images: readonly MediaPlace[];
  readonly files: readonly MediaPlace[];
  /** Start and end of the role of each message, quotes included. */
  readonly roles: Int32Array;
}

/** An image's `url` or a file's `file_data`, between its quotes. */
export interface MediaPlace extends Span {
  readonly param: string;
}

export const TEXT = 0;
/** Tool definitions and unknown fields as JSON, which templates serialize again. */
export const JSON_TEXT = 1;
/** A text that is JSON, which some templates parse. */
export const ARGUMENTS = 2;

/** Writes a PromptRecord while a request is checked. */
export class PromptRecorder {
  messages = 0;
  parts = 0;
  toolCalls = 0;
  tools = 0;
  inputs = 0;
  givenTokens = 0;
  longestGiven = 0;
  readonly images: MediaPlace[] = [];
  readonly files: MediaPlace[] = [];
  readonly #pieces: number[] = [];
  readonly #roles: number[] = [];

  get pieceCount(): number {
    return this.#pieces.length / 3;
  }

  addRole({ start, end }: Span): void {
    this.#roles.push(start, end);
  }

  addText({ start, end }: Span): void {
    this.#pieces.push(TEXT, start, end);
  }

  addArguments({ start, end }: Span): void {
    this.#pieces.push(ARGUMENTS, start, end);
  }

  /** A text that is an input of embeddings. */
  addInput(text: Span): void {
    this.inputs++;
    this.addText(text);
  }

  /** An input of embeddings that came as this many tokens. */
  addGiven(tokens: number): void {
    this.inputs++;
    this.givenTokens += tokens;
    this.longestGiven = Math.max(this.longestGiven, tokens);
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
    const { messages, parts, toolCalls, tools, inputs, givenTokens, longestGiven, images, files } = this;
    const counts = { messages, parts, toolCalls, tools, inputs, givenTokens, longestGiven };
    const places = { pieces: new Int32Array(this.#pieces), roles: new Int32Array(this.#roles) };
    return { ...counts, images, files, ...places };
  }
}
