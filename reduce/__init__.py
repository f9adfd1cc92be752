"""SQL reductions over the store, and what is made of them: reports, pages, comparisons, rules."""
