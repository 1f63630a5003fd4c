#include "forebay/versions.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "codec/audio/sound_library.h"
#include "format/table/load_codecs.h"
#include "loader/versions/build.h"
#include "loader/versions/library_versions.h"
#include "loader/versions/versions_json.h"
#include "store/http/http_versions.h"
#include "store/s3/xml_parse.h"
#include "stream/broker/broker_logs.h"

namespace forebay {

namespace {

ModuleVersion module(std::string name, const Result<std::string>& detail) {
  return {std::move(name), detail.ok(), detail.ok() ? *detail : detail.status().message()};
}

/// Arrow does not tell its version across the interface of its module.
Result<std::string> arrow_version() {
  FOREBAY_RETURN_IF_ERROR(load_table_codecs().status());
  return std::string();
}

Result<std::string> sound_library_versions() {
  FOREBAY_ASSIGN(const SoundLibrary* const library, load_sound_library());
  return library->versions();
}

#if defined(__x86_64__)
/// Those that some `__builtin_cpu_supports` in src/ asks for.
std::vector<std::string> instruction_sets() {
  std::vector<std::string> all;
  if (__builtin_cpu_supports("sse4.1")) all.emplace_back("sse4.1");
  if (__builtin_cpu_supports("sse4.2")) all.emplace_back("sse4.2");
  if (__builtin_cpu_supports("avx2")) all.emplace_back("avx2");
  if (__builtin_cpu_supports("avx512f")) all.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512bw")) all.emplace_back("avx512bw");
  if (__builtin_cpu_supports("avx512dq")) all.emplace_back("avx512dq");
  if (__builtin_cpu_supports("avx512vl")) all.emplace_back("avx512vl");
  return all;
}
#else
std::vector<std::string> instruction_sets() { return {}; }
#endif

}  // namespace

Versions versions() {
  return {.forebay = build().version,
          .revision = build().revision,
          .compiler = build().compiler,
          .processor = instruction_sets(),
          .libraries = library_versions(),
          .modules = {module("arrow", arrow_version()), module("http", http_versions()),
                      module("kafka", broker_client("kafka")), module("nats", broker_client("nats")),
                      module("redis", broker_client("redis")), module("sound", sound_library_versions()),
                      module("xml", xml_version())}};
}

Json versions_json() {
  const Versions all = versions();
  Json libraries, modules;
  for (const LibraryVersion& library : all.libraries) libraries[library.name] = library.version;
  for (const ModuleVersion& each : all.modules) modules[each.name] = {{"loads", each.loads}, {"detail", each.detail}};
  return {{"forebay", all.forebay},     {"revision", all.revision},          {"compiler", all.compiler},
          {"processor", all.processor}, {"libraries", std::move(libraries)}, {"modules", std::move(modules)}};
}

}  // namespace forebay
