#include "python/live.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "forebay/ledger.h"
#include "page/page.h"
#include "python/loader.h"
#include "python/raise.h"
#include "python/text.h"
#include "serve/live_pages.h"
#include "study/report/live_view.h"

namespace forebay::python {

namespace {

/// A live view that several threads may ask.
class PyLiveView {
 public:
  explicit PyLiveView(std::string subject) : view_(std::move(subject)) {}

  nb::object page(PyLoader& loader) {
    BatchLoader& target = loader.loader();
    std::string json;
    {
      const nb::gil_scoped_release unlocked;
      const Lock lock(mutex_);
      json = to_live_json(view_.page(static_cast<double>(monotonic_ns()) / 1e9, target.stats()));
    }
    return to_text(json);
  }

 private:
  Mutex mutex_;
  LiveView view_ FOREBAY_GUARDED_BY(mutex_);
};

nb::dict dict_of(const LivePage& page) {
  nb::dict dict;
  dict["url"] = to_text(page.url);
  dict["process"] = page.process;
  dict["rank"] = page.rank;
  dict["world_size"] = page.world_size;
  dict["fingerprint"] = to_text(page.fingerprint);
  return dict;
}

}  // namespace

void bind_live(nb::module_& module) {
  using nb::arg;
  nb::class_<PyLiveView>(module, "LiveView", "Figures of the last seconds and minutes of a loader, as a page.")
      .def(nb::init<std::string>(), arg("subject"))
      .def("page", &PyLiveView::page, arg("loader"), nb::sig("def page(self, loader: Loader) -> str"),
           "The page of now, as JSON.");
  nb::class_<PublishedPage>(module, "PublishedPage", "The file by which a live page is found. It is removed with it.")
      .def("forget", &PublishedPage::forget, "Leaves the file to the parent of this forked process.");
  module.def(
      "publish_page",
      [](std::string url, nb::str pipeline, std::string fingerprint, int process, int rank, int world_size) {
        return value_or_raise(PublishedPage::publish(
            {std::move(url), from_text(pipeline), std::move(fingerprint), process, rank, world_size}));
      },
      nb::kw_only(), arg("url"), arg("pipeline"), arg("fingerprint"), arg("process"), arg("rank"), arg("world_size"));
  module.def(
      "live_pages",
      [] {
        nb::list list;
        for (const LivePage& page : value_or_raise(live_pages())) list.append(dict_of(page));
        return list;
      },
      nb::sig("def live_pages() -> list[dict[str, typing.Any]]"), "The live pages of this user on this host.");
  module.def("live_document", &live_document, arg("nonce"), "The document that shows live pages.");
}

}  // namespace forebay::python
