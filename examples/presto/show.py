"""What each example does with its pipeline: prints it, the first batch, and with --profile which steps are better run once."""
import argparse

import forebay as fb


def main(pipeline, text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arguments", nargs="+", help="as above")
    parser.add_argument("--profile", action="store_true", help="which steps to run once and keep, and which each epoch (a minute)")
    given = parser.parse_args()
    steps = pipeline(*given.arguments)
    print(steps)
    with fb.Loader(steps, seed=7, epochs=1) as loader:
        batch = next(iter(loader))
        print(len(loader), "batches;", *(f"{name} {tuple(batch[name].shape)}" for name in batch if hasattr(batch[name], "shape")))
    if given.profile:
        print(fb.profile(steps))
