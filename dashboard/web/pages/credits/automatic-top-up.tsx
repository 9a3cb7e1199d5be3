import { type ReactNode, useState } from 'react';
import type { AutomaticTopUpView, TopUpOffer, TopUpsView } from '#contract/top-ups.ts';
import { MAX_DAILY_TOP_UPS_USD, MAX_TOP_UP_USD } from '#core/field-bounds.ts';
import { present } from '#core/present.ts';
import { useSend } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Banner, Card } from '../../components/panels.tsx';
import { Facts, Instant, Muted } from '../../components/values.tsx';
import { formatCount } from '../../format/format.ts';
import { fieldsOf } from '../../forms/field.tsx';
import { FormDialog, RequestDialog } from '../../forms/form-dialog.tsx';
import { NumberField } from '../../forms/inputs.tsx';
import { useOverlay } from '../../overlays/dialog.tsx';
import { leaveFor } from './leave-for.ts';

interface AutomaticTopUpProps {
  readonly payments: TopUpsView & { readonly offer: TopUpOffer };
  /** True for a user who returns from saving a card. */
  readonly hasSaved: boolean;
}

export function AutomaticTopUp({ payments, hasSaved }: AutomaticTopUpProps): ReactNode {
  const { card, automatic, stopped, offer } = payments;
  const [overlay, open] = useOverlay();
  const save = useSend('POST /api/organizations/:organization/card', {
    onDone: ({ url }) => leaveFor(url),
  });
  const set = useSend('PUT /api/organizations/:organization/automatic-top-up');
  const problem = save.error ?? set.error;
  const change = () => open((onClose) => <SettingsDialog offer={offer} settings={automatic} onClose={onClose} />);
  const remove = () => open((onClose) => <RemovalDialog onClose={onClose} />);
  return (
    <Card
      title="Automatic top-up"
      actions={
        <div className="row">
          {card !== undefined && (
            <Button tone="quiet" onClick={remove}>
              Remove card
            </Button>
          )}
          <Button busy={save.isPending} onClick={() => save.mutate({})}>
            {card === undefined ? 'Save a card' : 'Replace card'}
          </Button>
          {automatic && (
            <Button busy={set.isPending} onClick={() => set.mutate({ body: {} })}>
              Turn off
            </Button>
          )}
          {card !== undefined && <Button onClick={change}>{automatic ? 'Change' : 'Turn on'}</Button>}
        </div>
      }
    >
      {stopped && automatic && (
        <Banner
          tone="bad"
          title="Automatic top-up has stopped"
          action={
            <Button busy={set.isPending} onClick={() => set.mutate({ body: { settings: automatic } })}>
              Try again
            </Button>
          }
        >
          {stopped.reason} The card has not been charged since <Instant atMs={stopped.atMs} />, and is not charged
          before you replace it or try again.
        </Banner>
      )}
      {hasSaved && <SavedCard card={card} isOn={automatic !== undefined} />}
      {problem && <Banner tone="bad">{problem.message}</Banner>}
      <Facts
        of={{
          Card: card ?? <Muted>No card</Muted>,
          'Top-up': automatic ? (
            `$${formatCount(automatic.amountUsd)} when the balance is below $${formatCount(automatic.belowUsd)}`
          ) : (
            <Muted>Off</Muted>
          ),
          'Daily cap (UTC)': automatic && `$${formatCount(automatic.dailyUsd)}`,
        }}
      />
      {overlay}
    </Card>
  );
}

/** Message for a user who returns from saving a card. The event about it may be late. */
function SavedCard({ card, isOn }: { readonly card: string | undefined; readonly isOn: boolean }): ReactNode {
  if (card === undefined) {
    return (
      <Banner tone="neutral" title="Waiting for the card">
        It appears here as soon as Stripe confirms it, usually within seconds.
      </Banner>
    );
  }
  return isOn ? null : (
    <Banner tone="good" title="The card is saved">
      It is not charged before you turn on automatic top-up.
    </Banner>
  );
}

interface SettingsDialogProps {
  readonly offer: TopUpOffer;
  readonly settings: AutomaticTopUpView | undefined;
  readonly onClose: () => void;
}

function SettingsDialog({ offer, settings, onClose }: SettingsDialogProps): ReactNode {
  const { leastUsd, mostUsd, presetsUsd } = offer;
  const [draft, setDraft] = useState<Partial<AutomaticTopUpView>>(
    settings ?? present({ belowUsd: leastUsd, amountUsd: presetsUsd[0], dailyUsd: presetsUsd[0] }),
  );
  const set = useSend('PUT /api/organizations/:organization/automatic-top-up', { onDone: onClose });
  const field = fieldsOf(draft, setDraft, present({ amountUsd: set.error?.fields.settings }));
  return (
    <FormDialog
      onClose={onClose}
      title="Automatic top-up"
      description="Charges the saved card when the balance falls below the threshold, right away if it already has."
      submit="Save"
      sending={set}
      onSubmit={() => {
        const { belowUsd, amountUsd, dailyUsd } = draft;
        if (belowUsd === undefined || amountUsd === undefined || dailyUsd === undefined) return;
        set.mutate({ body: { settings: { belowUsd, amountUsd, dailyUsd } } });
      }}
    >
      <NumberField
        label="When the balance is below"
        required
        {...field('belowUsd')}
        min={1}
        max={MAX_TOP_UP_USD}
        suffix="USD"
      />
      <NumberField label="Charge" required {...field('amountUsd')} min={leastUsd} max={mostUsd} suffix="USD" />
      <NumberField
        label="Daily cap"
        hint="Per UTC day."
        required
        {...field('dailyUsd')}
        min={leastUsd}
        max={MAX_DAILY_TOP_UPS_USD}
        suffix="USD"
      />
    </FormDialog>
  );
}

function RemovalDialog({ onClose }: Pick<SettingsDialogProps, 'onClose'>): ReactNode {
  return (
    <RequestDialog
      endpoint="DELETE /api/organizations/:organization/card"
      input={{}}
      onClose={onClose}
      title="Remove the saved card?"
      submit="Remove card"
    >
      This also turns off automatic top-up.
    </RequestDialog>
  );
}
