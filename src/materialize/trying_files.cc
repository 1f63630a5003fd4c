#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/unit_source.h"
#include "forebay/materialize.h"
#include "materialize/chosen_samples.h"
#include "materialize/cut.h"

namespace forebay {

namespace {

constexpr int64_t kTrialParts =
    4;  // enough that what differs among them is seen, few enough that what each begins with is small

// Of all threads of this process.
double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// As far apart as each other.
std::vector<int64_t> spread(int64_t samples, int64_t all) {
  std::vector<int64_t> ids(static_cast<size_t>(std::min(samples, all)));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int64_t>(static_cast<__int128>(i) * all / static_cast<int64_t>(ids.size()));
  return ids;
}

// Whole ones, until they have as many rows; two of them at least, so that there is more than one part.
std::vector<int64_t> spread_units(int64_t rows, const UnitSource& source) {
  for (int64_t count = std::min<int64_t>(2, source.units()); count < source.units(); count = count * 3 / 2 + 1) {
    std::vector<int64_t> units = spread(count, source.units());
    const int64_t have = std::accumulate(units.begin(), units.end(), int64_t{0}, [&](int64_t sum, int64_t unit) {
      return sum + source.unit_begin(unit + 1) - source.unit_begin(unit);
    });
    if (have >= rows) return units;
  }
  return spread(source.units(), source.units());
}

// The data set, of which there are so many samples.
Description over_few(const Description& description, const Loader& as_it_is, int64_t samples) {
  const std::shared_ptr<const Source> all = as_it_is.opened().description().steps().front().opened;
  const auto* units = dynamic_cast<const UnitSource*>(all.get());
  OpSpec source = description.steps().front();
  source.opened = chosen_of(all, units != nullptr ? spread_units(samples, *units) : spread(samples, all->size()));
  Description few(std::move(source));
  for (size_t i = 1; i < description.steps().size(); ++i) few = few.append(description.steps()[i]);
  return few;
}

Pipeline pipeline_of(Description description) {
  return Pipeline(std::make_shared<const Description>(std::move(description)));
}

Result<TriedFiles> try_files(const FilesToTry& files, const std::string& answer) {
  const Description& description = files.pipeline.description();
  MaterializeOptions options;
  options.loader = files.options.loader;
  options.open = files.options.open;
  options.stop = files.options.stop;
  options.poll = files.options.poll;
  options.cut = description.steps()[files.behind].name;
  options.shards = kTrialParts;
  FOREBAY_ASSIGN(
      const std::unique_ptr<Materializer> writer,
      Materializer::open(pipeline_of(over_few(description, files.as_it_is, files.samples)), files.folder, options));
  TriedFiles tried;
  FOREBAY_RETURN_IF_ERROR(writer->begin());
  const int64_t begun_ns = monotonic_ns();
  const double cpu_before = cpu_seconds();
  for (int64_t part = 0; part < writer->shards(); ++part) FOREBAY_RETURN_IF_ERROR(writer->write(part));
  tried.seconds = static_cast<double>(monotonic_ns() - begun_ns) * 1e-9;
  tried.cpu_seconds = cpu_seconds() - cpu_before;
  FOREBAY_ASSIGN(Materialized written, writer->end());
  for (int64_t part = 0; part < writer->shards(); ++part)
    tried.parts.push_back({writer->samples({part}), written.shard_bytes[static_cast<size_t>(part)]});
  tried.pipeline = std::move(written.pipeline);
  tried.steps = std::move(written.steps);
  tried.answer = pipeline_of(behind_cut(description, files.behind, answer).description);
  tried.command = fmt::format("forebay materialize PIPELINE.json {} --cut {}", answer, options.cut);
  return tried;
}

}  // namespace

TryFiles trying_files(std::string folder) {
  return [folder = std::move(folder)](const FilesToTry& files) { return try_files(files, folder); };
}

}  // namespace forebay
