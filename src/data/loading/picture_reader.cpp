#include "tandem/data/picture_reader.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/host.hpp"
#include "tandem/data/picture_blocks.hpp"

namespace tandem::data {
namespace {

// Limit for pictures that are planned and not yet read. Each takes about a hundred bytes.
constexpr std::size_t kMostPlanned = std::size_t{1} << 18;

using FileBytes = std::shared_ptr<const std::string>;

// The part of a share for requests whose files have been read.
std::uint64_t at_hand_of(std::uint64_t share, std::uint64_t request_bytes) {
  return std::max(share - PictureBlocks::reserved_of(share), 2 * request_bytes);
}

std::vector<std::uint32_t> pictures_of(const BatchRequest& request) {
  std::vector<std::uint32_t> pictures = request.images;
  for (const MixRun& run : request.mix_runs) pictures.push_back(run.before);
  std::sort(pictures.begin(), pictures.end());
  pictures.erase(std::unique(pictures.begin(), pictures.end()), pictures.end());
  return pictures;
}

}  // namespace

class PictureReader::Ahead final : public PictureFiles {
 public:
  Ahead(const ImagesView& view, std::shared_ptr<PictureBlocks> blocks, Sampler& sampler)
      : places_(view.places),
        blocks_(std::move(blocks)),
        sampler_(sampler),
        share_(blocks_->take_share()),
        thread_([this] {
          name_this_thread("reader");
          run();
        }) {}

  ~Ahead() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    blocks_->return_share(share_);
  }

  std::optional<BatchRequest> next() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_bytes_ -= current_.bytes;
    current_ = {};
    changed_.notify_all();
    changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    current_ = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return std::move(current_.request);
  }

  std::uint64_t most_bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_bytes_;
  }

  FileBytes file_of(const PicturePlace& place) override {
    const auto found = current_.files.find(place.begin);
    return found != current_.files.end() ? found->second : blocks_->file_of(place);
  }

 private:
  // A request, and the numbers of its pictures in the order in which all are used.
  struct Planned {
    BatchRequest request;
    std::vector<std::uint32_t> pictures;
    std::uint64_t first_use = 0;
    std::uint64_t bytes = 0;
  };
  struct Ready {
    BatchRequest request;
    std::unordered_map<std::uint64_t, FileBytes> files;  // by their place
    std::uint64_t bytes = 0;
  };

  void run() {
    std::exception_ptr failure;
    try {
      for (plan(); !planned_.empty() && has_room(planned_.front().bytes); plan()) {
        Ready ready = fetch(std::move(planned_.front()));
        planned_.pop_front();
        const std::lock_guard<std::mutex> lock(mutex_);
        ready_bytes_ += ready.bytes;
        most_bytes_ = std::max(most_bytes_, kept_bytes_ + ready_bytes_);
        ready_.push_back(std::move(ready));
        changed_.notify_all();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = failure;
    finished_ = true;
    changed_.notify_all();
  }

  // Plans as far ahead as the cache can hold pictures: their average wait is half of the longest.
  void plan() {
    while (!sampler_ended_ &&
           (planned_.empty() || (planned_bytes_ < 2 * share_ && wanted_.size() < kMostPlanned))) {
      std::optional<BatchRequest> request = sampler_.next();
      if (!request) {
        sampler_ended_ = true;
        return;
      }
      Planned planned;
      planned.pictures = pictures_of(*request);
      planned.request = std::move(*request);
      planned.first_use = next_use_;
      for (const std::uint32_t picture : planned.pictures) {
        wanted_.emplace(picture, next_use_++);
        planned.bytes += places_[picture].end - places_[picture].begin;
      }
      planned_bytes_ += planned.bytes;
      largest_request_ = std::max(largest_request_, planned.bytes);
      planned_.push_back(std::move(planned));
    }
  }

  // False if the reader is to end.
  bool has_room(std::uint64_t bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t most = at_hand_of(share_, largest_request_);
    changed_.wait(lock,
                  [&] { return stopping_ || ready_.empty() || ready_bytes_ + bytes <= most; });
    return !stopping_;
  }

  Ready fetch(Planned planned) {
    const std::uint64_t end = planned.first_use + planned.pictures.size();
    Ready ready;
    ready.bytes = planned.bytes;
    for (std::size_t i = 0; i < planned.pictures.size(); ++i) {
      const PicturePlace& place = places_[planned.pictures[i]];
      const std::uint64_t use = planned.first_use + i;
      if (kept_.count(use) == 0) read_block_of(place, end);
      const auto found = kept_.find(use);
      kept_bytes_ -= found->second->size();
      ready.files.emplace(place.begin, std::move(found->second));
      kept_.erase(found);
      wanted_.erase({planned.pictures[i], use});
    }
    planned_bytes_ -= planned.bytes;
    ready.request = std::move(planned.request);
    return ready;
  }

  // Keeps the wanted pictures of the block: all that are used before `needed`, and of the others
  // those that are used next, as long as there is room.
  void read_block_of(const PicturePlace& place, std::uint64_t needed) {
    const PictureBlocks::Part part = blocks_->read(place.begin, place.end);
    const auto begin = std::lower_bound(
        places_.begin(), places_.end(), part.begin,
        [](const PicturePlace& each, std::uint64_t at) { return each.begin < at; });
    for (const PicturePlace* each = begin; each != places_.end() && each->end <= part.end();
         ++each) {
      const auto picture = static_cast<std::uint32_t>(each - places_.begin());
      const auto use = wanted_.lower_bound({picture, 0});
      if (use == wanted_.end() || use->first != picture) continue;
      keep(use->second, *each, part, needed);
    }
  }

  void keep(std::uint64_t use, const PicturePlace& place, const PictureBlocks::Part& part,
            std::uint64_t needed) {
    const std::uint64_t bytes = place.end - place.begin;
    const std::uint64_t most = kept_of(share_, largest_request_);
    const bool is_last = kept_.empty() || use > kept_.rbegin()->first;
    if (use >= needed && is_last && kept_bytes_ + bytes > most) return;
    const bool is_new = kept_
                            .emplace(use, std::make_shared<const std::string>(
                                              part.bytes, place.begin - part.begin, bytes))
                            .second;
    if (!is_new) return;
    kept_bytes_ += bytes;
    while (kept_bytes_ > most && kept_.rbegin()->first >= needed) {
      kept_bytes_ -= kept_.rbegin()->second->size();
      kept_.erase(std::prev(kept_.end()));
    }
  }

  const Span<const PicturePlace> places_;  // in the order of the file
  const std::shared_ptr<PictureBlocks> blocks_;
  Sampler& sampler_;
  const std::uint64_t share_;  // of the cache, in bytes

  // Used by the thread only.
  std::deque<Planned> planned_;
  std::uint64_t planned_bytes_ = 0;
  std::uint64_t largest_request_ = 0;  // in bytes
  std::uint64_t next_use_ = 0;
  bool sampler_ended_ = false;
  std::set<std::pair<std::uint32_t, std::uint64_t>> wanted_;  // pictures that are planned, and uses
  std::map<std::uint64_t, FileBytes> kept_;                   // by use
  std::uint64_t kept_bytes_ = 0;

  // Used by the caller of next() only.
  Ready current_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  std::uint64_t ready_bytes_ = 0;  // of these and the current one
  std::uint64_t most_bytes_ = 0;   // of these and kept_
  std::exception_ptr failure_;
  bool finished_ = false;
  bool stopping_ = false;

  std::thread thread_;  // last: everything above exists before it starts
};

PictureReader::PictureReader(const ImagesView& view, std::unique_ptr<Sampler> sampler)
    : sampler_(std::move(sampler)),
      ahead_([&]() -> std::shared_ptr<Ahead> {
        auto blocks = std::dynamic_pointer_cast<PictureBlocks>(view.files);
        return blocks ? std::make_shared<Ahead>(view, blocks, *sampler_) : nullptr;
      }()),
      view_(view) {
  if (ahead_) view_.files = ahead_;
}

PictureReader::~PictureReader() = default;

std::uint64_t PictureReader::kept_of(std::uint64_t share, std::uint64_t request_bytes) {
  const std::uint64_t at_hand = at_hand_of(share, request_bytes);
  return share > at_hand ? share - at_hand : 0;
}

std::uint64_t PictureReader::share_for(std::uint64_t kept, std::uint64_t request_bytes) {
  return std::max(PictureBlocks::min_bytes_for(kept), kept + 2 * request_bytes);
}

std::uint64_t PictureReader::most_bytes() const { return ahead_ ? ahead_->most_bytes() : 0; }

std::optional<BatchRequest> PictureReader::next() {
  return ahead_ ? ahead_->next() : sampler_->next();
}

}  // namespace tandem::data
