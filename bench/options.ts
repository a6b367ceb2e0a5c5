import { parseArgs } from 'node:util';

export type Options = {
  readonly mode: 'compare' | 'growth' | 'scale' | 'profile';
  readonly quick: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** For --growth: number of grants in each database. */
  readonly sizes: readonly number[];
  /** For --profile. */
  readonly scenario: string;
  readonly engine: 'sqlite' | 'postgres';
  readonly only: readonly string[];
};

export const HELP = `npm run bench -- [options]

  (none)             Postern, other servers and bare node:http (the floor): about eight minutes
  --quick            the same in less than a minute: fewer servers, shorter rounds, docs/ unchanged
  --growth           Postern with 10 thousand, 1 million and 5 million grants
  --scale            Postern on PostgreSQL with one worker, two workers and two nodes
  --profile NAME     CPU profile of one scenario: refresh, exchange, userinfo, revoke or introspect

  --rounds N         measured rounds (default 5; quick: 3)
  --seconds N        length of one run (default 3; quick: 0.5)
  --connections N    concurrent connections (default 32)
  --sizes A,B,…      numbers of grants, for --growth
  --engine E         sqlite (default) or postgres, for --profile and --growth
  --only A,B,…       servers: postern-sqlite, postern-postgres, oidc-provider, oauth2-server (the floor always runs)
`;

export function readOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      profile: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '32' },
      sizes: { type: 'string', default: '10000,1000000,5000000' },
      engine: { type: 'string', default: 'sqlite' },
      only: { type: 'string', default: '' },
    },
  });
  if (values.help) return undefined;
  const { quick } = values;
  return {
    mode: values.profile ? 'profile' : values.growth ? 'growth' : values.scale ? 'scale' : 'compare',
    quick,
    rounds: positive('rounds', values.rounds ?? (quick ? '3' : '5')),
    seconds: positive('seconds', values.seconds ?? (quick ? '0.5' : '3')),
    connections: positive('connections', values.connections),
    sizes: values.sizes.split(',').map((size) => positive('sizes', size)),
    scenario: values.profile ?? 'refresh',
    engine: values.engine === 'postgres' ? 'postgres' : 'sqlite',
    only: values.only.split(',').filter(Boolean),
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`--${name} must be a positive number; it is "${text}".`);
}
