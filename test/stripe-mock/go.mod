module stripe-mock-of-the-tests

go 1.22.1

require github.com/stripe/stripe-mock v0.203.0
