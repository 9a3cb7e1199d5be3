import { stripeOrders } from './stripe-orders.contract.ts';

stripeOrders(10_000);
