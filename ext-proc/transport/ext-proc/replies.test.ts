import { expect, it } from 'vitest';
import { ProcessingResponse } from '#proto/generated/ext_proc.ts';
import { frame } from './grpc-frame.ts';
import { ACCEPT_TRAILERS, END_OF_RESPONSE, NO_BODY } from './replies.ts';

it.each<[string, Buffer, ProcessingResponse]>([
  ['END_OF_RESPONSE', END_OF_RESPONSE, { streamedImmediateResponse: { bodyResponse: { endOfStream: true } } }],
  ['NO_BODY', NO_BODY, { requestBody: { response: { bodyMutation: { streamedResponse: { endOfStream: true } } } } }],
  ['ACCEPT_TRAILERS', ACCEPT_TRAILERS, { requestTrailers: {} }],
])('%s is what the generated code writes', (_, reply, message) => {
  expect(reply).toEqual(frame(ProcessingResponse.encode(message).finish()));
});
