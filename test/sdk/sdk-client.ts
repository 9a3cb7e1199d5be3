import type OpenAI from 'openai';

/**
 * A call through an SDK and what its caller sees, in the same form for every SDK, so that one set
 * of tests covers all.
 */
export interface SdkCall {
  readonly model?: string;
  readonly messages?: OpenAI.ChatCompletionMessageParam[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: boolean };
  readonly tools?: OpenAI.ChatCompletionTool[];
  readonly max_tokens?: number;
  /** Lists models instead of requesting a completion. */
  readonly list_models?: boolean;
  readonly api_key?: string;
  /** Default: 0. */
  readonly max_retries?: number;
  /** Further request headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SdkResult {
  readonly id?: string;
  readonly model?: string;
  readonly models?: readonly string[];
  readonly text?: string | null;
  readonly tool_calls?: ReadonlyArray<readonly [string, string]>;
  readonly tool_arguments?: string;
  readonly finish_reason?: string | null;
  readonly usage?: Readonly<Record<string, unknown>> | null;
  /** Name of the exception's class. */
  readonly error?: string;
  readonly status?: number | null;
  readonly code?: string | null;
  readonly type?: string | null;
  readonly param?: string | null;
  readonly message?: string;
}

export interface SdkClient {
  call(call: SdkCall): Promise<SdkResult>;
  close(): Promise<void>;
}
