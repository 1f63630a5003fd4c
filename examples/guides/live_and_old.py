"""Fine-tuning on a live stream, with a quarter of old data in each batch. A file that grows stands for a broker.

python live_and_old.py
"""
import itertools
import threading

import forebay as fb
import small_data

questions = small_data.questions("live_questions")
log = questions / "live.jsonl"


def write_live(lines):
    """What another program does: it appends a question now and then."""
    with open(log, "a") as file:
        for line in lines:
            file.write(line)
            file.flush()


asked = (questions / "new.jsonl").read_text().splitlines(keepends=True)
log.write_text("")
writer = threading.Thread(target=write_live, args=(asked[:2000],))
writer.start()

# --8<-- [start:pipeline]
old = fb.parquet(f"{questions}/old.parquet").shuffle(block=4)
live = fb.jsonl(str(log), follow=True, fields={"text": "text", "score": "int64"})  # or fb.stream("redis://broker/0/questions", fields=…)
pipeline = fb.mix({"live": live, "old": old}, weights={"live": 3, "old": 1}, samples=2048).batch(32)

with fb.Loader(pipeline, seed=7) as loader:
    for batch in itertools.islice(loader, 40):
        texts = batch["text"]                                            # of records and of old rows
    state = loader.state_dict()
    print("trained:", {part["name"]: part["samples"] for part in loader.stats()["parts"]})
# --8<-- [end:pipeline]

# --8<-- [start:resume]
with fb.Loader(pipeline, seed=7) as loader:
    loader.load_state_dict(state)                                        # the next record is the one behind the last
    batch = next(iter(loader))
    first = min(number for number, part in zip(batch.ids, batch.parts) if batch.part_names[part] == "live")
    print("goes on with record", first)
    loader.set_weights({"live": 1, "old": 1})                            # the stream is slow: more of the old from here on
    batch = next(iter(loader))
    print("batches of", len(batch), "samples, step", batch.step)
# --8<-- [end:resume]
writer.join()
