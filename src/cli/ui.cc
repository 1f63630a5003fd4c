#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/failure.h"
#include "serve/live_pages.h"

namespace forebay {
namespace {

SortedJson json_of(const LivePage& page) {
  return {{"url", page.url},   {"process", page.process},       {"pipeline", page.pipeline},
          {"rank", page.rank}, {"world_size", page.world_size}, {"fingerprint", page.fingerprint}};
}

void print_page(const LivePage& page, const Console& console) {
  fmt::print(console.out, "{}\n  process {}, rank {} of {}: {}\n", page.url, page.process, page.rank, page.world_size,
             page.pipeline);
}

}  // namespace

int ui_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "ui",
      "Lists the live pages of this user's running loaders on this host, for a browser on it. A loader has "
      "a page after loader.show(), or if its program was started with FOREBAY_UI=1.");
  int process = 0;
  line.add_number("--process", process, 1, 1 << 30, "only pages of this process")->default_str("");
  if (const auto code = line.parse(arguments, console)) return *code;
  Result<std::vector<LivePage>> pages = live_pages();
  if (!pages.ok()) return report_failure(pages.status(), line.json(), console);
  if (process > 0) std::erase_if(*pages, [&](const LivePage& page) { return page.process != process; });
  if (line.json()) {
    SortedJson list = SortedJson::array();
    for (const LivePage& page : *pages) list.push_back(json_of(page));
    print_json({{"pages", std::move(list)}}, console);
    return kDone;
  }
  for (const LivePage& page : *pages) print_page(page, console);
  if (pages->empty())
    fmt::print(console.err,
               "forebay: no loader has a live page here; call loader.show(), or start the program with FOREBAY_UI=1\n");
  return kDone;
}

}  // namespace forebay
