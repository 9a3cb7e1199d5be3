import { stripeOrders } from './stripe-orders.contract.ts';

stripeOrders(60);
