import { type ReactNode, useState } from 'react';
import type { AlertSettingsInput } from '#contract/alerts.ts';
import { ALERT_SETTINGS } from '#contract/shown-settings.ts';
import { MAX_ALERT_EMAILS } from '#core/field-bounds.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy.tsx';
import { Banner, Card, Loaded, PageHeader, Skeleton, UnlessFailed } from '../../components/panels.tsx';
import { useFailureToast, useToast } from '../../components/toast.tsx';
import { ChipsInput } from '../../forms/chips-input.tsx';
import { SelectField } from '../../forms/choices.tsx';
import { asField, fieldsOf } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { UnsavedChanges, usePageForm } from '../../forms/page-form.tsx';
import { SettingField } from '../../forms/setting-field.tsx';
import { Dialog } from '../../overlays/dialog.tsx';
import { Deliveries } from './deliveries.tsx';

const REFRESH_MS = 5_000;

export function AlertsPage(): ReactNode {
  const alerts = useAsk('GET /api/organizations/:organization/alerts', {}, { refreshMs: REFRESH_MS });
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <PageHeader
        title="Alerts"
        help="api.html#alerts"
        description="Know before the balance or a budget runs out, or a key expires."
      />
      <Loaded query={alerts} skeleton={<Skeleton height="420px" />}>
        {({ settings, sendsMail }) => <AlertsForm initial={settings} sendsMail={sendsMail} onSecret={setSecret} />}
      </Loaded>
      {alerts.data && (
        <Deliveries
          of="organization"
          deliveries={alerts.data.deliveries}
          hasReceiver={hasReceiver(alerts.data.settings)}
        />
      )}
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

function hasReceiver({ emails, webhookUrl }: AlertSettingsInput): boolean {
  return emails.length > 0 || webhookUrl !== undefined;
}

interface AlertsFormProps {
  /** The settings as fetched last. */
  readonly initial: AlertSettingsInput;
  readonly sendsMail: boolean;
  readonly onSecret: (secret: string) => void;
}

const CONDITIONS = ['balanceBelowNanoUsd', 'keyBudgets', 'keyExpiry', 'topUps'] as const;
const EmailsField = asField(ChipsInput);

function AlertsForm({ initial, sendsMail, onSecret }: AlertsFormProps): ReactNode {
  const form = usePageForm(ALERT_SETTINGS, initial);
  const { draft, isChanged, onSaved } = form;
  const toast = useToast();
  const save = useSend('PATCH /api/organizations/:organization/alerts', {
    onDone: ({ secret, settings }) => {
      onSaved(settings);
      if (secret === undefined) toast({ tone: 'good', text: 'Saved' });
      else onSecret(secret);
    },
  });
  const field = fieldsOf(draft, form.setDraft, save.error?.fields);
  return (
    <Card title="Notifications">
      {!sendsMail && <Banner tone="neutral">This gateway has no mail server: alerts go to the webhook only.</Banner>}
      {!draft.emails?.length && !draft.webhookUrl?.trim() && (
        <Banner tone="warn">No recipients yet. Add {sendsMail && 'an email address or '}a webhook.</Banner>
      )}
      <Form
        onSubmit={() => save.mutate({ body: { ...form.beginSave(), emailsBefore: form.before.emails } })}
        sending={save}
        submit="Save"
        beside={
          initial.webhookUrl !== undefined && draft.webhookKind !== 'slack' && <NewSecretButton onSecret={onSecret} />
        }
      >
        {CONDITIONS.map((name) => (
          <SettingField key={name} of={ALERT_SETTINGS[name]} {...field(name)} />
        ))}
        <EmailsField
          label={ALERT_SETTINGS.emails.label}
          hint={`At most ${MAX_ALERT_EMAILS}.`}
          {...field('emails')}
          validate={(email) => (/^[^\s@]+@[^\s@]+$/.test(email) ? undefined : `${email} is not an email address.`)}
          max={MAX_ALERT_EMAILS}
        />
        <SettingField
          of={ALERT_SETTINGS.webhookUrl}
          hint="An https:// address: a Slack incoming webhook or your own server."
          {...field('webhookUrl')}
        />
        {draft.webhookUrl?.trim() && (
          <SelectField
            required
            label={ALERT_SETTINGS.webhookKind.label}
            {...field('webhookKind')}
            value={draft.webhookKind ?? 'webhook'}
            choices={{ webhook: 'Signed JSON (Standard Webhooks)', slack: 'Text for Slack' }}
          />
        )}
      </Form>
      <UnsavedChanges isChanged={isChanged} />
    </Card>
  );
}

function NewSecretButton({ onSecret }: Pick<AlertsFormProps, 'onSecret'>): ReactNode {
  const renew = useSend('POST /api/organizations/:organization/alerts/secret', {
    onDone: ({ secret }) => onSecret(secret),
    onFailed: useFailureToast(),
  });
  return (
    <Button disabled={renew.isPending} onClick={() => renew.mutate({})}>
      New webhook secret
    </Button>
  );
}

function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }): ReactNode {
  return (
    <Dialog
      mustAnswer
      onClose={onClose}
      title="Webhook secret"
      description="Use it to verify the signature of each message (Standard Webhooks)."
      footer={
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <CopyBox text={secret} what="secret" />
      <p className="muted">It is not shown again. A new secret replaces it at once.</p>
    </Dialog>
  );
}

export function OperatorAlertsPage(): ReactNode {
  const alerts = useAsk('GET /api/alerts', {}, { refreshMs: REFRESH_MS });
  return (
    <>
      <PageHeader
        title="Alerts"
        help="interface.html#alerts"
        description="You get a mail when a provider is out of funds, when charges are lost, refused or late, when Stripe sends no events, and when models differ from the catalogue or a service tier has no price."
      />
      <UnlessFailed query={alerts}>
        <Card title="Recipients">
          <p>
            {alerts.data === undefined || alerts.data.receivers.length > 0 ? (
              alerts.data?.receivers.join(', ')
            ) : (
              <>
                None: set <code>mail.operators</code> in the configuration.
              </>
            )}
          </p>
        </Card>
        <Deliveries
          of="operators"
          deliveries={alerts.data?.deliveries}
          hasReceiver={(alerts.data?.receivers ?? []).length > 0}
        />
      </UnlessFailed>
    </>
  );
}
