#include "forebay/materialize.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/checked_pipeline.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "cli/progress.h"
#include "store/local/local_file.h"

namespace forebay {
namespace {

struct MaterializeFlags {
  std::string pipeline, folder, apply, engine;
  std::optional<int64_t> workers;
};

void print(const Materialized& made, const MaterializeFlags& flags, const Console& console) {
  fmt::print(console.out, "{} samples behind {} in {} file{}, {}; {} of them written now, in {:.1f} s\n", made.samples,
             made.cut, made.shards, made.shards == 1 ? "" : "s", format_byte_size(made.bytes), made.written,
             made.seconds);
  if (made.reused > 0)
    fmt::print(console.out, "{} of those were taken from what was there; the steps were run for {}\n", made.reused,
               made.written - made.reused);
  if (!made.complete) fmt::print(console.out, "not complete: other ranks have files to write yet\n");
  if (made.complete && flags.apply.empty())
    fmt::print(console.out, "read it with materialized(\"{}\"), in place of the steps up to {}\n", flags.folder,
               made.cut);
}

SortedJson json_of(const Materialized& made) {
  return {{"bytes", made.bytes},     {"complete", made.complete}, {"cut", made.cut},       {"reused", made.reused},
          {"samples", made.samples}, {"seconds", made.seconds},   {"shards", made.shards}, {"written", made.written}};
}

Status apply(const Materialized& made, const MaterializeFlags& flags, const Console& console) {
  if (flags.apply.empty() || !made.complete) return {};
  FOREBAY_ASSIGN(const std::string text, made.pipeline.to_json());
  FOREBAY_RETURN_IF_ERROR(write_file(flags.apply, text + "\n"));
  fmt::print(console.err, "wrote {}, which reads it\n", flags.apply);
  return {};
}

// Ray is a Python library that runs Python tasks.
constexpr const char* kOnRay =
    "import sys; from forebay import _ray; sys.exit(_ray.main(open(int(sys.argv[1])).read()))";

// Creates a file in memory for the next program, because a pipeline may exceed the limit for
// program arguments.
Result<FileDescriptor> file_of(const std::string& text) {
  FileDescriptor file(memfd_create("forebay-job", 0));
  for (size_t done = 0; file.valid() && done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return unavailable(fmt::format("no memory for the job: {}", std::strerror(errno)));
    done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
  }
  if (!file.valid() || ::lseek(file.get(), 0, SEEK_SET) != 0)
    return unavailable(fmt::format("no file for the job: {}", std::strerror(errno)));
  return file;
}

SortedJson optional_json(const auto& value) { return value ? SortedJson(*value) : SortedJson(); }

SortedJson ray_job(const std::string& pipeline, const MaterializeFlags& flags, const MaterializeOptions& options,
                   bool json) {
  return {{"pipeline", pipeline},
          {"url", flags.folder},
          {"cut", options.cut},
          {"format", options.format},
          {"compression", options.compression},
          {"quality", optional_json(options.quality)},
          {"limit", optional_json(options.limit)},
          {"restart_markers", options.restart_markers},
          {"update", options.update},
          {"shards", optional_json(options.shards)},
          {"workers", optional_json(flags.workers)},
          {"threads", optional_json(options.loader.resources.threads)},
          {"memory", optional_json(options.loader.resources.memory)},
          {"storage_options", options.loader.storage_options},
          {"url_options", optional_json(options.url_options)},
          {"apply", flags.apply},
          {"json", json}};
}

// Replaces this process, so that signals and the exit code are those of Python.
int run_on_ray(const Pipeline& pipeline, const MaterializeFlags& flags, const MaterializeOptions& options, bool json,
               const Console& console) {
  const Result<std::string> text = pipeline.to_json();
  if (!text.ok()) return report_failure(text.status(), json, console);
  const Result<FileDescriptor> file = file_of(ray_job(*text, flags, options, json).dump());
  if (!file.ok()) return report_failure(file.status(), json, console);
  const char* named = std::getenv("FOREBAY_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words = {python, "-c", kOnRay, fmt::format("{}", file->get())};
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  // Buffered output would be lost with this process.
  std::fflush(nullptr);
  ::execvp(python.c_str(), raw.data());
  return report_failure(
      invalid_argument(fmt::format("--engine ray needs Python, but '{}' cannot be run ({}); FOREBAY_PYTHON names "
                                   "another",
                                   python, std::strerror(errno))),
      json, console);
}

void add_options(CommandLine& line, MaterializeFlags& flags, MaterializeOptions& options) {
  CLI::App& app = line.app();
  app.add_option("pipeline", flags.pipeline, "a pipeline as JSON; - is standard input")->required();
  app.add_option("folder", flags.folder, "a folder or s3://bucket/prefix; unfinished work there is continued")
      ->required();
  app.add_option("--cut", options.cut,
                 "the last step to run: its name, last, or best: the fastest in files, by `forebay profile`")
      ->capture_default_str();
  app.add_option("--format", options.format,
                 "arrow; parquet, for tables; wds: tar files; or jpeg: tar files with pictures as JPEG")
      ->check(CLI::IsMember({"arrow", "parquet", "wds", "jpeg"}))
      ->capture_default_str();
  line.add_number("--quality", options.quality, 1, 100, "with --format jpeg: the quality; default: 90");
  line.add_number("--limit", options.limit, 1, 65'500,
                  "with --format jpeg: make pictures smaller until no side has more pixels");
  app.add_flag("--restart-markers", options.restart_markers,
               "with --format jpeg: keep the original pictures, and add a restart marker after each row of blocks; "
               "pixels stay the same");
  app.add_flag("--update", options.update, "bring existing data up to date: make only new samples");
  app.add_option("--compression", options.compression, "compression of tables")->check(CLI::IsMember({"lz4", "zstd"}));
  line.add_number("--shards", options.shards, 1, 1'000'000, "number of shards; default: shards of 64 MiB");
  line.add_number("--rank", options.rank, 0, 1'000'000,
                  "write every --world-th shard, from this one on; default: from torchrun, Slurm or MPI");
  line.add_number("--world", options.world_size, 1, 1'000'000,
                  "number of ranks that share the work; default: from torchrun, Slurm or MPI");
  app.add_option("--apply", flags.apply, "write the pipeline that reads the result to this file")
      ->type_name("OUT.json");
  app.add_option("--engine", flags.engine, "ray: use a running Ray cluster, or start one here")
      ->check(CLI::IsMember({"ray"}));
  line.add_number("--workers", flags.workers, 1, 100'000,
                  "with --engine ray: limit of shards that are made at the same time");
}

// An option that was given and does not apply to --engine ray.
std::optional<std::string> option_not_for_ray(CommandLine& line) {
  for (const char* option : {"--rank", "--world", "--on-error", "--max-errors", "--requests", "--seed", "--epochs",
                             "--shard-by", "--hosts"}) {
    if (line.app().get_option_no_throw(option) != nullptr && line.app().count(option) > 0) return option;
  }
  return std::nullopt;
}

Result<Materialized> materialize_with_progress(const Pipeline& pipeline, const MaterializeFlags& flags,
                                               MaterializeOptions options, bool json, const Console& console) {
  // Its destructor clears the bar before anything else is printed.
  std::optional<Progress> progress;
  options.progress = [&](const MaterializeProgress& now) {
    // Created late, because the first report tells how many samples there are.
    if (!progress) progress.emplace(console, "writing", now.samples, json);
    progress->update(now.samples_done, [&] {
      const double rate = static_cast<double>(now.samples_done) / std::max(now.seconds, 1e-9);
      return fmt::format("{:.0f} s left", static_cast<double>(now.samples - now.samples_done) / std::max(rate, 1e-9));
    });
  };
  return materialize(pipeline, flags.folder, options);
}

}  // namespace

int materialize_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("materialize",
                   "Runs the first steps of a pipeline once for all samples, and writes their output to files.");
  MaterializeFlags flags;
  MaterializeOptions options;
  add_options(line, flags, options);
  const StorageFlags url_options(line, "--url-option",
                                 "option of the store that is written to; default: those of --storage-option");
  const LoaderFlags loader(line, LoaderFlags::Which::kAll);
  if (const auto code = line.parse(arguments, console)) return *code;

  const CheckedPipeline checked = read_checked_pipeline(flags.pipeline, line.json(), console);
  if (!checked.pipeline) return checked.exit_code;
  if (!flags.apply.empty()) {
    if (Status writable = check_writable(flags.apply); !writable.ok())
      return report_failure(writable, line.json(), console);
  }

  options.loader = loader.options();
  if (url_options.given()) options.url_options = url_options.options();
  if (!flags.engine.empty()) {
    if (const std::optional<std::string> option = option_not_for_ray(line))
      return line.misuse(fmt::format("{} does not apply to --engine ray; leave one of them out", *option), console);
    return run_on_ray(*checked.pipeline, flags, options, line.json(), console);
  }
  if (flags.workers) return line.misuse("was given --workers, which is for --engine ray", console);
  const Interrupt interrupt;
  options.stop = interrupt.token();
  const Result<Materialized> made = materialize_with_progress(*checked.pipeline, flags, options, line.json(), console);
  if (!made.ok()) return report_failure(made.status(), line.json(), console);
  if (line.json())
    print_json(json_of(*made), console);
  else
    print(*made, flags, console);
  const Status written = apply(*made, flags, console);
  return written.ok() ? kDone : report_failure(written, line.json(), console);
}

}  // namespace forebay
