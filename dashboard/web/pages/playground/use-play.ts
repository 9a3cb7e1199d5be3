import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { PlayInput } from '#contract/playground.ts';
import { ApiProblem } from '../../api/api.ts';
import { play } from './play.ts';
import {
  isOpen,
  messagesOf,
  NO_RESPONSE,
  type Play,
  type PlayResponse,
  responseAfter,
  responseAtEnd,
} from './play-response.ts';

/** Settings of the next request. */
export interface PlaySettings extends Omit<PlayInput, 'messages'> {
  readonly system: string;
}

/** The conversation, which is in the memory of this page alone, and the request in progress. */
export function usePlay(organization: string) {
  const client = useQueryClient();
  const [plays, setPlays] = useState<readonly Play[]>([]);
  const current = useRef<AbortController>(undefined);
  // A page that is left stops its request.
  useEffect(() => () => current.current?.abort(), []);

  const change = (id: number, next: (response: PlayResponse) => PlayResponse) =>
    setPlays((all) => all.map((one) => (one.id === id ? { ...one, response: next(one.response) } : one)));

  const follow = async (id: number, input: PlayInput, { signal }: AbortController) => {
    try {
      for await (const event of play(organization, input, signal))
        change(id, (response) => responseAfter(response, event));
      change(id, (response) => responseAtEnd(response));
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : undefined;
      change(id, (response) => responseAtEnd(response, problem));
      // Asks to sign in again if the session has ended.
      if (problem?.problem === 'not_signed_in') void client.invalidateQueries({ queryKey: ['GET /api/session'] });
    }
    void client.invalidateQueries({ queryKey: ['GET /api/organizations/:organization'] });
  };

  const sendAfter = (before: readonly Play[], said: string, { system, ...settings }: PlaySettings) => {
    const id = (plays.at(-1)?.id ?? 0) + 1;
    const input = { ...settings, messages: messagesOf(system, before, said) };
    const controller = new AbortController();
    current.current = controller;
    setPlays([...before, { id, model: settings.model, said, response: NO_RESPONSE }]);
    void follow(id, input, controller);
  };
  const send = (said: string, settings: PlaySettings) => sendAfter(plays, said, settings);
  /** Replaces a play without a response. */
  const sendAgain = ({ id, said }: Play, settings: PlaySettings) =>
    sendAfter(
      plays.filter((one) => one.id !== id),
      said,
      settings,
    );
  const stop = () => {
    current.current?.abort();
    setPlays((all) =>
      all.map((one) => (isOpen(one.response) ? { ...one, response: { ...one.response, state: 'stopped' } } : one)),
    );
  };
  const clear = () => {
    stop();
    setPlays([]);
  };
  return { plays, busy: plays.some(({ response }) => isOpen(response)), send, sendAgain, stop, clear };
}
