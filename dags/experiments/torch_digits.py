"""A small convolutional network of PyTorch's, for images of one size, on any number of workers."""

import copy
import math
import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

INPUTS = ["image"]
SEVERAL_WORKERS = True
HYPERPARAMETERS = {
    "learning_rate": {
        "default": 0.003,
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "step size of Adam",
    },
    "filters": {
        "default": 32,
        "minimum": 4,
        "maximum": 512,
        "description": "filters of the first layer",
    },
    "dropout": {
        "default": 0.2,
        "minimum": 0,
        "exclusiveMaximum": 1,
        "description": "share of the features that a step leaves out",
        "type": "number",
    },
    "batch_size": {
        "default": 64,
        "minimum": 1,
        "maximum": 65536,
        "description": "examples of a step, over all workers",
        "unit": "examples",
    },
    "patience": {
        "default": 8,
        "minimum": 1,
        "maximum": 1000,
        "description": "epochs without a lower loss, after which it ends",
        "unit": "epochs",
    },
}


def fit(data, hyperparameters, report, run):
    """Train until the loss on the validation split is lowest; go on from the last checkpoint."""
    h, workers = hyperparameters, run.workers
    x, y = pixels(data.train), torch.from_numpy(data.train.labels)
    weights = torch.from_numpy(data.train.weights).float()
    made = {"shape": list(x.shape[1:]), "classes": len(data.classes), "filters": h.filters}
    torch.manual_seed(run.seed)
    net = network(**made, dropout=h.dropout)
    optimizer = torch.optim.Adam(net.parameters(), h.learning_rate)
    last = run.checkpoints / "last.pt"
    state = {"epoch": 0, "best": math.inf, "best_epoch": 0, "weights": net.state_dict()}
    if last.exists():
        state = torch.load(last, weights_only=True)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
    trained = together(net, workers)
    for epoch in range(state["epoch"] + 1, run.epochs + 1):
        if epoch - state["best_epoch"] > h.patience:
            break
        # Order and dropout are functions of seed and epoch, so it does not matter where it began.
        torch.manual_seed(run.seed + 1000 * epoch)
        trained.train()
        losses = []
        for batch in torch.randperm(len(x)).split(h.batch_size):
            # Equal shares: the mean of the workers' gradients is that of the batch.
            own = batch[: len(batch) // len(workers) * len(workers)][workers.rank :: len(workers)]
            if not len(own):
                continue
            loss = nn.functional.cross_entropy(trained(x[own]), y[own], reduction="none")
            loss = (loss * weights[own]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        held_out, accuracy = scores(net, data.validation)
        if held_out < state["best"]:
            best = copy.deepcopy(net.state_dict())
            state |= {"best": held_out, "best_epoch": epoch, "weights": best}
        state |= {"epoch": epoch, "net": net.state_dict(), "optimizer": optimizer.state_dict()}
        loss = sum(losses) / len(losses)
        report(epoch=epoch, loss=loss, val_loss=held_out, val_accuracy=accuracy)
        # Afterwards: killed in between, it makes and reports this epoch again.
        if workers.rank == 0:
            save(state, last)
    if len(workers) > 1:
        distributed.destroy_process_group()
    net.load_state_dict(state["weights"])
    return Network(net, made)


def load(folder):
    """The network that `save` wrote."""
    saved = torch.load(folder / "network.pt", weights_only=True)
    net = network(**saved["made"])
    net.load_state_dict(saved["weights"])
    return Network(net, saved["made"])


class Network:
    """A trained network, and what it is made of."""

    def __init__(self, net, made):
        self.net, self.made = net.eval(), made

    def predict(self, batch):
        """Probabilities, (n, classes)."""
        with torch.inference_mode():
            return self.net(pixels(batch)).softmax(1).numpy()

    def save(self, folder):
        """Write the network into an empty folder."""
        save({"made": self.made, "weights": self.net.state_dict()}, folder / "network.pt")


def network(shape, classes, filters, dropout=0.0):
    """A network from pixels (n, channels, height, width) to logits (n, classes)."""
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, filters, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(filters, 2 * filters, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(2 * filters * (height // 2) * (width // 2), classes),
    )


def pixels(batch):
    """Images as float32 (n, channels, height, width), from 0 to 1."""
    return torch.from_numpy(batch.images()).permute(0, 3, 1, 2).float() / 255


def scores(net, examples):
    """Loss, and share of the examples with the right label."""
    labels = torch.from_numpy(examples.labels)
    net.eval()
    with torch.inference_mode():
        found = net(pixels(examples))
        loss = nn.functional.cross_entropy(found, labels)
        right = (found.argmax(1) == labels).float().mean()
    return loss.item(), right.item()


def together(net, workers):
    """The network, whose gradients are the mean over all workers."""
    if len(workers) == 1:
        return net
    first = workers.addresses[0]
    if first.startswith(("127.", "localhost:")):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group(
        "gloo", init_method=f"tcp://{first}", rank=workers.rank, world_size=len(workers)
    )
    return DistributedDataParallel(net)


def save(state, path):
    """Write a file that is whole or not there."""
    new = path.with_suffix(".new")
    torch.save(state, new)
    os.replace(new, path)
