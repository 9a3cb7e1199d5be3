import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressSubject, originSubjects } from './attempt-subjects.ts';

describe('the address by which attempts are counted', () => {
  it.each([
    ['192.0.2.7', 'address 192.0.2.7'],
    ['::ffff:192.0.2.7', 'address 192.0.2.7'],
    ['::FFFF:192.0.2.7', 'address 192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', 'address 2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', 'address 2001:db8:1:2::/64'],
    ['2001:db8::1', 'address 2001:db8:0:0::/64'],
    ['::1', 'address 0:0:0:0::/64'],
    ['::', 'address 0:0:0:0::/64'],
    ['fe80::1%eth0', 'address fe80:0:0:0::/64'],
    ['1:2::3:4:5:6', 'address 1:2:0:0::/64'],
    ['::2:3:4:5:6:7:8', 'address 0:2:3:4::/64'],
    ['1::192.0.2.1', 'address 1:0:0:0::/64'],
    ['1:2:3::5:6:192.0.2.1', 'address 1:2:3:0::/64'],
    ['', 'address '],
    ['unknown', 'address unknown'],
  ])('of %s is %s', (address, subject) => {
    expect(addressSubject(address)).toBe(subject);
  });

  it('is the same for a whole /64 and differs for the next, in any notation', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, groups, (one, other) => {
        const written = (parts: number[]) => parts.map((part) => part.toString(16)).join(':');
        const short = (parts: number[]) => new URL(`http://[${written(parts)}]/`).hostname.slice(1, -1);
        const neighbour = [...one.slice(0, 4), ...other.slice(4)];
        // ::ffff:0:0/96 is IPv4.
        fc.pre(![...[one], neighbour].some((parts) => parts.slice(0, 5).every((part) => part === 0)));
        expect(addressSubject(short(neighbour))).toBe(addressSubject(written(one)));
        const same = one.slice(0, 4).every((part, index) => part === other[index]);
        if (!same) expect(addressSubject(written(other))).not.toBe(addressSubject(written(one)));
      }),
    );
  });
});

describe('the origin of an attempt', () => {
  it('is its address, and for IPv6 also the /48 around it', () => {
    expect(originSubjects({ address: '192.0.2.7' })).toEqual({ near: 'address 192.0.2.7' });
    const network = (address: string) => originSubjects({ address }).wide?.subject;
    expect(network('2001:db8:1:2::1')).toBe('network 2001:db8:1::/48');
    expect(network('2001:db8:1:ffff::9')).toBe('network 2001:db8:1::/48');
    expect(network('2001:db8:2::1')).toBe('network 2001:db8:2::/48');
  });

  it('is the client that an untrusted proxy names, and all of its clients together', () => {
    const one = originSubjects({ address: '10.0.0.5', claimedAddress: '198.51.100.1' });
    const other = originSubjects({ address: '10.0.0.5', claimedAddress: '198.51.100.2' });
    expect(one.near).not.toBe(other.near);
    expect(one.near).not.toBe(originSubjects({ address: '198.51.100.1' }).near);
    expect([one.wide, other.wide]).toEqual(Array(2).fill({ subject: 'proxy address 10.0.0.5', max: 1_000 }));
  });

  it('is never longer than the database stores', () => {
    const long = 'x'.repeat(10_000);
    expect(originSubjects({ address: long, claimedAddress: long }).near.length).toBeLessThan(200);
  });
});
