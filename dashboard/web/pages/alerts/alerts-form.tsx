import { type ReactNode, useState } from 'react';
import type { AlertSettingsInput } from '#contract/alerts.ts';
import { useSend } from '../../api/use-send.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { useToast } from '../../components/toast.tsx';
import { ChipsInput } from '../../forms/chips-input.tsx';
import { Checkbox } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { Form, FormButtons } from '../../forms/form.tsx';
import { MoneyInput } from '../../forms/number-inputs.tsx';
import { TextInput } from '../../forms/text-input.tsx';

export interface AlertsFormProps {
  readonly organization: string;
  /** Settings when the form began. */
  readonly initial: AlertSettingsInput;
  readonly sendsMail: boolean;
  readonly onSecret: (secret: string) => void;
}

const MAX_EMAILS = 5;

export function AlertsForm({ organization, initial, sendsMail, onSecret }: AlertsFormProps): ReactNode {
  const [draft, setDraft] = useState(initial);
  const set = (change: Partial<AlertSettingsInput>) => setDraft((before) => ({ ...before, ...change }));
  const toast = useToast();
  const save = useSend('PUT /api/organizations/:organization/alerts', {
    onDone: ({ secret }) => {
      if (secret === undefined) toast({ tone: 'good', text: 'Saved' });
      else onSecret(secret);
    },
  });
  const problems = save.error?.fields ?? {};
  return (
    <Card title="What to report, and where to">
      {!sendsMail && <Banner tone="neutral">This gateway has no mail server: alerts go to the webhook only.</Banner>}
      {draft.emails.length === 0 && (draft.webhookUrl ?? '').trim() === '' && (
        <Banner tone="warn">Nobody is told yet: add {sendsMail && 'an e-mail address or '}a webhook.</Banner>
      )}
      <Form onSubmit={() => save.mutate({ params: { organization }, body: cleaned(draft) })} problem={save.error}>
        <Field label="Balance below" hint="Empty: no alert about the balance." error={problems.balanceBelowNanoUsd}>
          <MoneyInput
            value={draft.balanceBelowNanoUsd}
            onChange={(balanceBelowNanoUsd) =>
              setDraft(({ balanceBelowNanoUsd: _, ...others }) => ({
                ...others,
                ...(balanceBelowNanoUsd !== undefined && { balanceBelowNanoUsd }),
              }))
            }
          />
        </Field>
        <Checkbox
          label="Budget of a key at 80% and 100%"
          checked={draft.keyBudgets}
          onChange={(keyBudgets) => set({ keyBudgets })}
        />
        <Checkbox
          label="A key that expires within 7 days"
          checked={draft.keyExpiry}
          onChange={(keyExpiry) => set({ keyExpiry })}
        />
        <Checkbox label="A failed top-up" checked={draft.topUps} onChange={(topUps) => set({ topUps })} />
        <Field label="E-mail addresses" hint={`At most ${MAX_EMAILS}.`} error={problems.emails}>
          <ChipsInput
            values={draft.emails}
            onChange={(emails) => set({ emails })}
            validate={(email) => (/^[^\s@]+@[^\s@]+$/.test(email) ? undefined : `${email} is not an e-mail address.`)}
            max={MAX_EMAILS}
          />
        </Field>
        <Field
          label="Webhook URL"
          hint="Begins with https://. Messages are signed (Standard Webhooks)."
          error={problems.webhookUrl}
        >
          <TextInput value={draft.webhookUrl ?? ''} onChange={(webhookUrl) => set({ webhookUrl })} />
        </Field>
        <FormButtons>
          {initial.webhookUrl !== undefined && <NewSecretButton organization={organization} onSecret={onSecret} />}
          <Button type="submit" tone="primary" disabled={save.isPending}>
            Save
          </Button>
        </FormButtons>
      </Form>
    </Card>
  );
}

function cleaned({ webhookUrl = '', ...others }: AlertSettingsInput): AlertSettingsInput {
  const url = webhookUrl.trim();
  return { ...others, ...(url !== '' && { webhookUrl: url }) };
}

function NewSecretButton({ organization, onSecret }: Pick<AlertsFormProps, 'organization' | 'onSecret'>): ReactNode {
  const toast = useToast();
  const renew = useSend('POST /api/organizations/:organization/alerts/secret', {
    onDone: ({ secret }) => onSecret(secret),
  });
  return (
    <Button
      disabled={renew.isPending}
      onClick={() =>
        renew.mutate(
          { params: { organization } },
          { onError: (problem) => toast({ tone: 'bad', text: problem.message }) },
        )
      }
    >
      New webhook secret
    </Button>
  );
}
