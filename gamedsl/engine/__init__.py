"""What runs and shows a `GameIR`: the evaluator, labels, prompts and the reply parser."""
