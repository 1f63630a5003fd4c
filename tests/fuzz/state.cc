// A saved state from a stranger: it is refused with a reason, or it means a place, and a loader goes on from there without
// a crash and without waiting for ever. Nothing in it is trusted, with strict=false still less.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "forebay/loader.h"
#include "loader/run/checkpoint.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static Loader& loader() {
  static const std::unique_ptr<Loader> opened = [] {
    Tensor numbers = Tensor::allocate(DType::kInt64, {100});
    for (int64_t i = 0; i < 100; ++i) numbers.data<int64_t>()[i] = i;
    auto made =
        Loader::open(arrays({{"x", {numbers, ""}}}).shuffle().batch(7), {.seed = 3, .resources = {.threads = 1}});
    require(made.ok(), "a loader over an array opens");
    return std::move(*made);
  }();
  return *opened;
}

static void read_and_write(std::string_view text) {
  const auto read = Checkpoint::from_json(text);
  if (!read.ok()) {
    require(!read.status().message().empty(), "a refusal has a reason");
    return;
  }
  const auto again = Checkpoint::from_json(read->to_json());
  require(again.ok() && again->cursor == read->cursor, "what was written can be read, and is the same place");
}

static void go_on_from(const std::string& text, bool strict) {
  if (!loader().load_state(text, strict).ok()) return;
  require(loader().epoch() >= 0, "an epoch is 0 or larger");
  require(Checkpoint::from_json(loader().state()).ok(), "a loader's own state can be read");
  bool timed_out = false;
  const auto batch = loader().next_for(std::chrono::seconds(10), &timed_out);
  require(!timed_out, "the next batch comes");
  require(batch.ok(), "a place that was accepted is one to go on from");
  if (!batch->has_value()) return;
  for (int64_t id : (*batch)->ids) require(0 <= id && id < 100, "the samples are those of the data set");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_and_write(text);
  go_on_from(text, /*strict=*/true);
  go_on_from(text, /*strict=*/false);
  return 0;
}
