#include "loader/run/run.h"

#include <utility>

#include <fmt/format.h>

#include "loader/describe/step_arguments.h"
#include "loader/run/data_set_run.h"
#include "loader/run/replay_run.h"
#include "loader/run/stream_part_run.h"
#include "loader/run/stream_run.h"

namespace forebay {

Result<std::shared_ptr<Run>> open_run(const RunInput& input, std::shared_ptr<const Source> source) {
  bool replays = find_step(input.description(), OpEffect::kReplay) != nullptr;
  if (!replays && !input.options.rehearsal.empty())
    return invalid_argument("rehearsal= is for pipelines with a .rehearse()");
  std::shared_ptr<Run> run;
  if (const auto* log = dynamic_cast<const StreamSource*>(source.get())) {
    FOREBAY_ASSIGN(std::shared_ptr<StreamRun> stream, StreamRun::open(input, *log));
    replays |= stream->repeats();
    run = std::move(stream);
  } else if (const std::vector<size_t> leaves = StreamPartRun::leaves_of(*source); !leaves.empty()) {
    FOREBAY_ASSIGN(std::shared_ptr<StreamPartRun> parts, StreamPartRun::open(input, *source, leaves));
    replays |= parts->repeats();
    run = std::move(parts);
  } else {
    FOREBAY_ASSIGN(run, DataSetRun::open(input, std::move(source)));
  }
  if (!replays) return run;
  FOREBAY_ASSIGN(std::shared_ptr<Run> replay, ReplayRun::open(input, std::move(run)));
  return replay;
}

Result<Run::Resume> Run::change(const PlanEdit& edit, const Cursor&) {
  return invalid_argument(fmt::format("{}: {}", edit.call, edit.needs));
}

Result<Checkpoint> Run::with_changed_parts(const Checkpoint&) const {
  return invalid_argument("parts=\"changed\" is for pipelines with parts, such as fb.mix makes");
}

}  // namespace forebay
