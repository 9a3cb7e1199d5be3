import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { DeviceView } from '#contract/session.ts';
import { useAsk } from '../../api/use-ask.ts';
import { useSend } from '../../api/use-send.ts';
import { Badge } from '../../components/badge.tsx';
import { IconButton } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Instant } from '../../components/figures.tsx';
import { EmptyState, UnlessFailed } from '../../components/states.tsx';
import { useToast } from '../../components/toast.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { deviceName } from './device-name.ts';

/** All signed-in browsers. */
export function Devices(): ReactNode {
  const devices = useAsk('GET /api/devices', {});
  return (
    <Card title="Signed-in devices">
      <UnlessFailed query={devices}>
        <Table
          caption="Signed-in devices"
          columns={COLUMNS}
          rows={devices.data?.devices}
          rowKey={({ id }) => id}
          skeletonRows={2}
          empty={<EmptyState icon="device" title="No device is signed in" />}
        />
      </UnlessFailed>
    </Card>
  );
}

const COLUMNS: readonly Column<DeviceView>[] = [
  {
    id: 'device',
    header: 'Device',
    cell: ({ userAgent, current }) => (
      <span data-hint={userAgent}>
        {deviceName(userAgent)} {current && <Badge tone="accent">This one</Badge>}
      </span>
    ),
  },
  { id: 'address', header: 'Address', cell: ({ address }) => <code>{address}</code> },
  { id: 'since', header: 'Signed in', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, hideBelow: 'medium' },
  { id: 'seen', header: 'Last seen', cell: ({ lastSeenAtMs }) => <Instant atMs={lastSeenAtMs} show="relative" /> },
  { id: 'actions', header: '', label: 'Actions', numeric: true, cell: (device) => <EndSession device={device} /> },
];

function EndSession({ device }: { readonly device: DeviceView }): ReactNode {
  const toast = useToast();
  const navigate = useNavigate();
  const client = useQueryClient();
  const end = useSend('DELETE /api/devices/:device', {
    changes: device.current ? [] : ['GET /api/devices'],
    onDone: () => {
      if (device.current) void navigate({ to: '/sign-in' }).then(() => client.clear());
      else toast({ tone: 'good', text: 'Signed out there.' });
    },
  });
  return (
    <IconButton
      icon="signOut"
      disabled={end.isPending}
      label={`Sign out ${deviceName(device.userAgent)}, ${device.address}`}
      onClick={() =>
        end.mutate(
          { params: { device: device.id } },
          { onError: ({ message }) => toast({ tone: 'bad', text: message }) },
        )
      }
    />
  );
}
