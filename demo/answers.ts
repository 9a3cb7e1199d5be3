/** Texts of the demo model. It is not a language model. Its texts are fixed, and say so. */

export interface Message {
  readonly role: string;
  readonly text: string;
}

const LABEL = '[demo model: canned text, not a language model]';

const LONGEST_ECHO = 80;

export function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  return (last?.text ?? '').replace(/\s+/g, ' ').trim();
}

export function answerTo(messages: readonly Message[]): string {
  const said = lastUserText(messages);
  const echo = said.length > LONGEST_ECHO ? `${said.slice(0, LONGEST_ECHO)}…` : said;
  const words = said === '' ? 0 : said.split(' ').length;
  const heard = echo === '' ? 'You sent no text.' : `You said "${echo}" (${count(words, 'word')}).`;
  return `${LABEL} ${heard} This is message ${messages.length} of the conversation. Your request went through authentication, a hold on the prepaid balance, Envoy and back; it is charged now. Say "help" to see how to make me fail on purpose.`;
}

export const HELP = `${LABEL} Send one of these as your message: ${[
  '"fail: reset" (connection reset before an answer)',
  '"fail: cut" (reset in the middle of the answer)',
  '"fail: stall" (an answer that stops)',
  '"fail: silent" (no answer at all)',
  '"fail: no-done" (ends without [DONE])',
  '"fail: error-event" (an error inside the stream)',
  '"fail: error-first" (a stream that begins with an error)',
  '"fail: html" (an HTML 502)',
  '"fail: garbage" (bytes that are not JSON)',
  '"fail: 400", "fail: 401", "fail: 429", "fail: 500", "fail: 503" (that status)',
  '"slow" (first word after 3 seconds)',
].join(', ')}.`;

/** Pieces as a model would stream them: words with the preceding blank. */
export function pieces(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Estimated tokens, four characters each, so that usage and charges change. */
export function roughTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
