// Places in a stream as states have them, decisions as rank 0 tells and journals keep them, and the first lines of journals: any text is one, in one form, or is refused; nothing in it leads out of the partitions.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "stream/decision.h"
#include "stream/journal.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void read_place(const nlohmann::ordered_json& json) {
  const Result<StreamState> state = StreamState::from_json(json);
  if (!state.ok()) return;
  const size_t partitions = state->partitions.size();
  require(state->place.after.size() == partitions && state->place.dropped.size() == partitions,
          "of each partition one");
  const Result<StreamState> again = StreamState::from_json(state->to_json());
  require(again.ok() && again->place == state->place && again->partitions == state->partitions, "a place says itself");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> partitions = {"a", "b", "c"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<Decision> decision = Decision::from_json(text, partitions.size()); decision.ok()) {
    require(decision->size() >= 0, "a decision has no less than nothing");
    for (const DecisionPart& part : decision->parts)
      require(part.partition < partitions.size(), "parts are of partitions");
    const Result<Decision> again = Decision::from_json(decision->to_json(), partitions.size());
    require(again.ok() && *again == *decision, "a decision says itself");
  }
  if (!nests_too_deep(text)) read_place(nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false));
  if (const Result<JournalHeader> header = JournalHeader::from_json(text, partitions); header.ok()) {
    const Result<JournalHeader> again = JournalHeader::from_json(header->to_json(partitions), partitions);
    require(again.ok() && again->place == header->place && again->seed == header->seed, "a header says itself");
  }
  return 0;
}
