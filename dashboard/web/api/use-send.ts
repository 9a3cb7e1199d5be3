import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ResponseOf } from '#contract/api.ts';
import { send } from './api.ts';
import type { AskEndpoint, Optional, SendEndpoint, SendInput } from './endpoint-url.ts';
import { askForPassword } from './form-prompts.ts';
import { ApiProblem } from './problem.ts';

export interface SendOptions<E extends SendEndpoint> {
  /** Endpoints to refetch. Default: everything on the screen. */
  readonly changes?: readonly AskEndpoint[];
  readonly onDone?: (response: ResponseOf<E>) => void;
}

/**
 * `mutate(input)` sends. `isPending`, `error` (an ApiProblem with `fields`) and `reset()` describe
 * the result.
 */
export function useSend<E extends SendEndpoint>(
  endpoint: E,
  { changes, onDone }: SendOptions<E> = {},
): UseMutationResult<ResponseOf<E>, ApiProblem, SendInput<E>> {
  const client = useQueryClient();
  return useMutation<ResponseOf<E>, ApiProblem, SendInput<E>>({
    mutationFn: async (input) => {
      const attempt = () => send(endpoint, ...([input] as Optional<SendInput<E>>));
      try {
        return await attempt();
      } catch (error) {
        // The refusal came before any effect. The same request is repeated once the password is
        // given.
        const isAsked = error instanceof ApiProblem && error.problem === 'password_needed' && (await askForPassword());
        if (!isAsked) throw error;
        return attempt();
      }
    },
    onSuccess: async (response) => {
      onDone?.(response);
      if (changes === undefined) await client.invalidateQueries();
      else await Promise.all(changes.map((changed) => client.invalidateQueries({ queryKey: [changed] })));
    },
  });
}
