import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { PlayChat, PlayInput } from '#contract/playground.ts';
import { ApiProblem } from '../../api/api.ts';
import { useKeptState } from '../../api/kept-state.ts';
import { play } from './play.ts';
import {
  type Answer,
  isOpen,
  messagesOf,
  NO_RESPONSE,
  type Play,
  type PlayResponse,
  responseAtEnd,
  stopped,
} from './play-response.ts';

/** Settings of the next request. */
export interface PlaySettings extends Pick<PlayInput, 'likeKey'> {
  readonly system: string;
  /** One for each chosen model. */
  readonly chats: readonly Omit<PlayChat, 'messages'>[];
}

/** The conversation, which is kept only in memory, and the requests in progress. */
export function usePlay(organization: string) {
  const client = useQueryClient();
  const [plays, setPlays] = useKeptState<readonly Play[]>(['plays', organization], [], stopped);
  const current = useRef<AbortController>(undefined);
  // Leaving the page cancels its requests.
  useEffect(() => () => current.current?.abort(), []);

  const changeAnswers = (change: (answer: Answer, play: Play, column: number) => Answer) =>
    setPlays((all) =>
      all.map((one) => ({ ...one, answers: one.answers.map((answer, column) => change(answer, one, column)) })),
    );

  const follow = async (id: number, column: number, input: PlayInput) => {
    current.current ??= new AbortController();
    const { signal } = current.current;
    const change = (next: (response: PlayResponse) => PlayResponse) =>
      changeAnswers((answer, { id: its }, place) =>
        its === id && place === column ? { ...answer, response: next(answer.response) } : answer,
      );
    try {
      for await (const arrived of play(organization, input, signal)) {
        if (signal.aborted) return;
        change(() => arrived);
      }
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : undefined;
      change((response) => responseAtEnd(response, problem));
      // Prompts for a sign-in if the session has ended.
      if (problem?.problem === 'not_signed_in') void client.invalidateQueries({ queryKey: ['GET /api/session'] });
    }
    void client.invalidateQueries({ queryKey: ['GET /api/organizations/:organization'] });
  };

  const ask = (before: readonly Play[], asked: Play, column: number, { system, chats, ...rest }: PlaySettings) => {
    const chat = chats[column] ?? chats[0];
    const beside = chats.find(({ model }) => model !== chat?.model)?.model;
    if (chat === undefined) return;
    const messages = messagesOf(system, before, asked, column);
    void follow(asked.id, column, { ...rest, ...(beside && { beside }), chat: { ...chat, messages } });
  };
  const send = (said: string, images: readonly string[], settings: PlaySettings) => {
    const answers = settings.chats.map(({ model }) => ({ model, response: NO_RESPONSE }));
    const asked = { id: (plays.at(-1)?.id ?? 0) + 1, said, images, answers };
    setPlays([...plays, asked]);
    for (const column of answers.keys()) ask(plays, asked, column, settings);
  };
  /** Repeats the request for an answer that did not arrive. */
  const sendAgain = (asked: Play, column: number, settings: PlaySettings) => {
    const model = (settings.chats[column] ?? settings.chats[0])?.model;
    changeAnswers((answer, { id }, place) =>
      id === asked.id && place === column ? { model: model ?? answer.model, response: NO_RESPONSE } : answer,
    );
    const before = plays.filter(({ id }) => id < asked.id);
    ask(before, asked, column, settings);
  };
  const stop = () => {
    current.current?.abort();
    current.current = undefined;
    setPlays(stopped);
  };
  const clear = () => {
    stop();
    setPlays([]);
  };
  const busy = plays.some(({ answers }) => answers.some(({ response }) => isOpen(response)));
  return { plays, busy, send, sendAgain, stop, clear };
}
