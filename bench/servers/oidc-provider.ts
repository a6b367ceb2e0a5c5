import { Pool } from 'pg';
import { makeProvider } from './oidc-provider-setup.ts';
import { POOL_SIZE } from './pool-size.ts';

const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: POOL_SIZE });
makeProvider(pool).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
process.on('disconnect', () => process.exit());
