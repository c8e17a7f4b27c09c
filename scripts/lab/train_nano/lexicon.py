"""The words of the flat and of the world outside it. Data only."""

from __future__ import annotations

from typing import Final

Vocabulary = dict[str, tuple[str, ...]]
"""Canonical name to everyday names."""

ROOMS: Final[Vocabulary] = {
    "kitchen": ("kitchen area", "cooking area"),
    "living room": ("lounge", "sitting room", "living area", "livingroom"),
    "bedroom": ("bed room", "sleeping room"),
    "bathroom": ("bath", "restroom", "toilet", "washroom", "bath room", "loo"),
    "hallway": ("hall", "corridor", "hall", "corridor", "entrance hall"),
    "office": ("study", "home office", "work room", "workroom"),
    "garage": ("car garage",),
    "balcony": ("terrace",),
}

LANDMARKS: Final[Vocabulary] = {
    "front door": ("entrance", "entrance door", "main door", "door", "entry door", "house door"),
    "dining table": ("table", "table", "dinner table", "big table"),
    "sofa": ("couch", "couch", "settee"),
    "desk": ("writing desk", "work desk", "office desk"),
    "fridge": ("refrigerator", "refrigerator", "icebox", "fridge freezer"),
    "window": ("big window", "window sill"),
}

DOCK: Final = (
    "charging dock",
    "dock",
    "charger",
    "charging station",
    "docking station",
    "base station",
    "charging point",
)

OBJECTS: Final[Vocabulary] = {
    "red cube": ("cube", "cube", "red block", "red dice"),
    "blue ball": ("ball", "ball"),
    "green box": ("box", "box"),
    "bottle": ("water bottle", "bottle of water"),
    "cup": ("mug", "mug", "coffee cup", "tea cup", "coffee mug"),
    "book": ("novel", "paperback"),
    "apple": ("red apple",),
    "remote control": ("remote", "TV remote", "tv remote", "clicker", "television remote", "remote"),
    "keys": ("key", "house keys", "car keys", "bunch of keys", "keyring"),
    "phone": ("mobile", "cell phone", "smartphone", "mobile phone", "cellphone", "telephone"),
    "screwdriver": ("screw driver",),
    "towel": ("bath towel", "hand towel"),
}

DIRECTIONS: Final[Vocabulary] = {
    "left": ("to the left", "to your left", "leftwards"),
    "right": ("to the right", "to your right", "rightwards"),
    "up": ("upwards", "up there"),
    "down": ("downwards", "down there"),
    "ahead": ("straight ahead", "forward", "to the front", "in front of you", "straight"),
}

UNKNOWN_OBJECTS: Final = (
    *"""scissors laptop pen pencil notebook hammer wrench saw drill nail screw umbrella hat coat jacket shoes boots socks shirt
trousers glove scarf belt wallet purse bag backpack suitcase basket bucket broom mop sponge soap shampoo toothbrush toothpaste
razor comb brush mirror lamp candle lighter matches plate bowl fork spoon knife pan pot kettle toaster jar lid tray napkin
tablecloth banana orange pear lemon grape sandwich bread cheese milk butter egg pizza cake cookie chocolate coffee tea juice
beer wine glass straw newspaper magazine letter envelope stamp map card photo picture painting camera tablet charger cable
battery headphones speaker microphone radio television keyboard mouse printer monitor guitar violin drum flute piano teddy
doll puzzle toy kite balloon racket bat football frisbee dice chess dog cat leash collar bone plant flower vase pillow
blanket sheet curtain carpet rug chair stool ladder rope tape glue ruler stapler paper folder clipboard eraser marker crayon
glasses sunglasses watch ring necklace bracelet medicine pills bandage thermometer tissues perfume deodorant iron hanger
detergent trash vacuum laundry pizza sandwich salad soup snack chips popcorn nuts honey salt pepper sugar oil flour rice pasta
helmet bike skateboard scooter ticket passport coin money charger flashlight torch compass binoculars tripod backpack tent
pliers tweezers needle thread button zipper diary calendar poster globe statue trophy medal""".split(),
    "red ball", "blue cube", "green ball", "yellow box", "red box", "blue box", "green cube", "yellow ball", "black cube",
    "white box", "coffee machine", "can of soda", "pair of socks", "first aid kit", "power drill", "tape measure",
    "washing powder", "hair dryer", "nail clippers", "car seat", "dog food", "glass of water", "vacuum cleaner",
    "sticky notes", "game controller", "alarm clock", "wine glass", "frying pan", "tennis ball", "coke", "lunch box",
)  # fmt: skip

UNKNOWN_PLACES: Final = (
    *"""attic basement cellar garden backyard yard patio porch roof rooftop pool nursery playroom library gym pantry closet
wardrobe cupboard stairs staircase upstairs downstairs elevator lobby studio workshop shed barn greenhouse laundry sauna
driveway street sidewalk park supermarket shop store school hospital station airport beach church bakery restaurant cafe bar
cinema theater museum bank hotel neighbours neighbors mailbox sink oven stove dishwasher microwave bathtub shower bed crib
armchair bench bookshelf shelf fireplace mirror television piano aquarium washer dryer freezer moon forest lake river
mountain tower castle bridge tunnel barn den loft veranda foyer mezzanine conservatory boiler vestibule""".split(),
    "dining room", "guest room", "laundry room", "storage room", "kids room", "children's room", "second floor",
    "first floor", "back door", "coffee table", "bedside table", "washing machine", "garden shed", "utility room",
    "guest bathroom", "wine cellar", "swimming pool", "car", "front yard", "bus stop", "game room", "music room",
    "server room", "meeting room", "conference room", "neighbour's flat", "kitchen sink", "walk-in closet", "tv stand",
)  # fmt: skip

ADJECTIVES: Final = tuple(
    "old new small big large little pink purple yellow orange black white brown grey silver golden heavy broken wooden metal plastic blue red green".split()
)

COLORS: Final = tuple(
    "red blue green yellow white orange purple pink black cyan magenta turquoise violet gold silver".split()
)

NAMES: Final = tuple(
    """Anna Ben Carla David Emma Felix Grace Hannah Ivan Julia Kai Laura Max Nina Oscar Paul Rosa Sam Tom Uma Victor Wendy Lena
Peter Maria John Sarah Mike Lisa James Linda Robert Alice Bob Charlie Daisy Ethan Fiona George Helen Ian Jack Kate Leo Mia
Noah Olivia Quinn Ruth Steve Tina Yusuf Zoe Ahmed Chen Priya Raj Fatima Diego Sofia Luca Marta Ingrid Sven Yuki Kenji""".split()
)

PEOPLE: Final = (
    "my mother", "my father", "my mom", "my dad", "my wife", "my husband", "my brother", "my sister", "my son", "my daughter",
    "my boss", "my friend", "the neighbour", "the kids", "grandma", "grandpa", "the doctor", "the cat", "the dog", "my uncle",
    "the children", "our guests", "the plumber", "my colleague", "the baby", "my girlfriend", "my boyfriend",
    *NAMES[:30],
)  # fmt: skip

TOPICS: Final = (
    "the weather", "football", "politics", "the news", "music", "history", "space", "dinosaurs", "cooking", "the stock market",
    "robots", "philosophy", "France", "the moon", "cats", "the universe", "mathematics", "your favourite movie", "climate",
    "the president", "chess", "black holes", "love", "the meaning of life", "computers", "tomorrow", "bread", "the ocean",
)  # fmt: skip

SONGS: Final = (
    "happy birthday", "jingle bells", "moonlight", "yesterday", "thunder", "blue sky", "the river", "summer rain", "lullaby",
    "good morning", "rock the house", "silent night", "the entertainer", "ode to joy", "waltz", "siren", "doorbell", "beep",
)  # fmt: skip

UNSERVED_VERBS: Final = tuple(
    """vacuum clean wash paint open close lock unlock cook water feed iron fold repair fix empty fill polish dust wipe sweep
mop heat cool cut slice boil fry bake break throw kick push pull hide wrap sell buy order photograph film draw read count
measure weigh hang sort tidy decorate build assemble ring record print shred burn peel stir taste smell sniff
catch juggle shake squeeze rinse dry disinfect mow trim prune plant call text email invite wake massage tickle comb""".split()
)
"""Verbs of requests that no tool of the house robot serves, each taking an object."""

COMMON_WORDS: Final = tuple(
    """the be to of and a in that have I it for not on with he as you do at this but his by from they we say her she or an will
my one all would there their what so up out if about who get which go me when make can like time no just him know take people
into year your good some could them see other than then now look only come its over think also back after use two how our work
first well way even new want because any these give day most us is are was were been has had did said made went gone took taken
came saw seen knew known found thought told asked left right put kept let began seemed helped talked turned started showed heard
played ran moved lived believed held brought happened wrote sat stood lost paid met set learned changed led understood watched
followed stopped created spoke read spent grew opened walked won taught offered remembered considered appeared bought served died
sent built stayed fell cut reached killed raised passed sold decided returned explained hoped developed carried broken received
agreed morning evening night afternoon today tomorrow yesterday week month hour minute second house home room door floor wall
water food family friend mother father child baby man woman boy girl dog cat car bus train money job school book paper music
movie game story question answer problem idea number word name place world country city street summer winter spring weather rain
snow sun wind cold warm hot big small long short high low old young early late fast slow easy hard happy sad angry tired hungry
thirsty sick busy ready sure true false open closed clean dirty empty full heavy light dark bright quiet loud strong weak nice
beautiful funny great little much many few more less every each both another same different next last again always never often
sometimes usually maybe perhaps really very quite too almost enough together away around through between under above behind
before since until while during without within against toward across along near far here please thanks sorry hello yes okay
dinner lunch breakfast table window kitchen garden bathroom computer television radio phone clock finger hand foot head eye
should could might must shall does doing being having going getting making taking coming using trying working playing""".split()
)
"""Everyday words for the tokenizer's sample, whether or not a phrase file has them."""
