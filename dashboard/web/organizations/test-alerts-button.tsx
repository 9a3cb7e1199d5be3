import type { ReactNode } from 'react';
import { countOf } from '#core/count-of.ts';
import { useSend } from '../api/use-send.ts';
import { Button } from '../components/button.tsx';
import { useToast } from '../components/toast.tsx';

export interface TestAlertsButtonProps {
  /** Absent: to the operators. */
  readonly organization?: string;
  readonly hasReceiver: boolean;
}

/** Sends a test to every receiver of alerts. */
export function TestAlertsButton({ organization, hasReceiver }: TestAlertsButtonProps): ReactNode {
  const toast = useToast();
  const onDone = ({ messages }: { readonly messages: number }) =>
    messages === 0
      ? toast({
          tone: 'bad',
          text: 'Nothing is sent: there was a test within the last minute, or too many messages wait.',
        })
      : toast({ tone: 'good', text: `A test is on its way to ${countOf(messages, 'receiver')}.` });
  const onError = (problem: Error) => toast({ tone: 'bad', text: problem.message });
  const ofOrganization = useSend('POST /api/organizations/:organization/alerts/test', { onDone });
  const ofOperators = useSend('POST /api/alerts/test', { onDone });
  return (
    <Button
      disabled={!hasReceiver || ofOrganization.isPending || ofOperators.isPending}
      onClick={() =>
        organization === undefined
          ? ofOperators.mutate({}, { onError })
          : ofOrganization.mutate({ params: { organization } }, { onError })
      }
    >
      Send a test
    </Button>
  );
}
